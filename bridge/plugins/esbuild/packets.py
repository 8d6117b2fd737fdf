"""
The packets of the bundler's service, which it exchanges on standard input and output.

A packet is its length (four bytes, little endian), a number (the request's, doubled;
odd in a response; each side counts its own requests), and one value: null, a boolean,
an integer, a string, bytes, a list or a map, each after one byte for its kind.  The
protocol is that of the pinned version and of no other; the service's first packet is
its version.  Nothing here does I/O.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from ...classes import frozen

_NULL, _BOOLEAN, _INTEGER, _STRING, _BYTES, _LIST, _MAP = range(7)
_KINDS: Final = (type(None), bool, int, str, bytes, list, dict)
_LENGTH: Final = struct.Struct("<I")


class PacketError(ValueError):
    """Bytes that are no packet of this protocol."""


def packet(number: int, value: Any, *, is_response: bool = False) -> bytes:
    """
    The packet of a request or a response, with the length in front.

    :param number: The request's.
    """
    body: list[bytes] = [_LENGTH.pack(number << 1 | is_response)]
    _encode(value, body)
    return b"".join([_LENGTH.pack(sum(map(len, body))), *body])


def take_packet(received: bytearray) -> tuple[memoryview, bytearray] | None:
    """
    Take the first whole packet from what was received, without a copy: of many
    megabytes that would hold up every socket.

    :return: It, without its length, and what follows; ``None``: more has to arrive.
    """
    if len(received) < _LENGTH.size:
        return None
    end = _LENGTH.size + _LENGTH.unpack_from(received)[0]
    if len(received) < end:
        return None
    return memoryview(received)[_LENGTH.size : end], received[end:]


@frozen
class Packet:
    """A packet that was read; see ``packet``."""

    number: int
    is_response: bool
    value: Any


def read_packet(body: bytes | memoryview) -> Packet:
    """
    Read a packet.

    :param body: Without its length; bytes in the value are views of it, if it is one.
    :raise PacketError: It is no whole packet.
    """
    try:
        (head,) = _LENGTH.unpack_from(body)
        value, end = _decode(body, _LENGTH.size)
    except (struct.error, IndexError, RecursionError):
        raise PacketError("the service's packet cannot be read") from None
    if end != len(body):
        raise PacketError("the service's packet is longer than its value")
    return Packet(head >> 1, bool(head & 1), value)


def _encode(value: Any, into: list[bytes]) -> None:
    kind = _KINDS.index(type(value))
    into.append(bytes([kind]))
    if kind == _BOOLEAN:
        into.append(bytes([value]))
    elif kind == _INTEGER:
        into.append(_LENGTH.pack(value))
    elif kind in (_STRING, _BYTES):
        data = value if kind == _BYTES else value.encode()
        into += [_LENGTH.pack(len(data)), data]
    elif kind == _LIST:
        into.append(_LENGTH.pack(len(value)))
        for item in value:
            _encode(item, into)
    elif kind == _MAP:
        into.append(_LENGTH.pack(len(value)))
        for name, item in value.items():
            data = name.encode()
            into += [_LENGTH.pack(len(data)), data]
            _encode(item, into)


def _decode(
    data: bytes | memoryview, at: int, kind: int | None = None
) -> tuple[Any, int]:
    """
    Read the value at a place; return it, and where it ends.

    :param kind: Its kind, where none is written: names are texts.
    """
    if kind is None:
        kind, at = data[at], at + 1
    if kind == _NULL:
        return None, at
    if kind == _BOOLEAN:
        return data[at] != 0, at + 1
    (number,) = _LENGTH.unpack_from(data, at)
    at += _LENGTH.size
    if kind == _INTEGER:
        return number, at
    if kind in (_LIST, _MAP):
        return _decode_many(data, at, number, kind == _MAP)
    end = at + number
    if kind not in (_STRING, _BYTES) or end > len(data):
        raise PacketError("the service's packet has no such value")
    piece = data[at:end]
    # Messages of the bundler's quote sources, which need not be UTF-8.
    return (piece if kind == _BYTES else str(piece, "utf-8", "replace")), end


def _decode_many(
    data: bytes | memoryview, at: int, count: int, is_map: bool
) -> tuple[list[Any] | dict[str, Any], int]:
    items, members = [], {}
    for _ in range(count):
        if is_map:
            name, at = _decode(data, at, _STRING)
            members[name], at = _decode(data, at)
        else:
            item, at = _decode(data, at)
            items.append(item)
    return (members if is_map else items), at
