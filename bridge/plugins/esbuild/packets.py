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
_LENGTH: Final = struct.Struct("<I")
_TEXT_KIND: Final = bytes([_STRING])


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


def take_packet(received: bytearray) -> bytes | None:
    """
    Take the first whole packet from what was received.

    :return: It, without its length; ``None``: more has to arrive first.
    """
    if len(received) < _LENGTH.size:
        return None
    end = _LENGTH.size + _LENGTH.unpack_from(received)[0]
    if len(received) < end:
        return None
    body = bytes(received[_LENGTH.size : end])
    del received[:end]
    return body


@frozen
class Packet:
    """A packet that was read; see ``packet``."""

    number: int
    is_response: bool
    value: Any


def read_packet(body: bytes) -> Packet:
    """
    Read a packet.

    :param body: Without its length.
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
    if isinstance(value, str):  # most are: a source has hundreds of names
        data = value.encode()
        into += [_TEXT_KIND, _LENGTH.pack(len(data)), data]
    elif value is None:
        into.append(bytes([_NULL]))
    elif isinstance(value, bool):
        into.append(bytes([_BOOLEAN, value]))
    elif isinstance(value, int):
        into.append(bytes([_INTEGER]) + _LENGTH.pack(value))
    elif isinstance(value, bytes):
        into += [bytes([_BYTES]) + _LENGTH.pack(len(value)), value]
    else:
        _encode_many(value, into)


def _encode_many(value: list[Any] | dict[str, Any], into: list[bytes]) -> None:
    kind = _LIST if isinstance(value, list) else _MAP
    into.append(bytes([kind]) + _LENGTH.pack(len(value)))
    for item in value:
        if isinstance(value, dict):
            data = item.encode()
            into += [_LENGTH.pack(len(data)), data]
        _encode(value[item] if isinstance(value, dict) else item, into)


def _decode(data: bytes, at: int) -> tuple[Any, int]:
    """Read the value at a place; return it, and where it ends."""
    kind, at = data[at], at + 1
    if kind == _NULL:
        return None, at
    if kind == _BOOLEAN:
        return data[at] != 0, at + 1
    if kind in (_STRING, _BYTES):
        return _piece(data, at, kind == _STRING)
    (number,) = _LENGTH.unpack_from(data, at)
    at += _LENGTH.size
    if kind == _INTEGER:
        return number, at
    if kind not in (_LIST, _MAP):
        raise PacketError("a value of an unknown kind")
    items, members = [], {}
    for _ in range(number):
        if kind == _LIST:
            item, at = _decode(data, at)
            items.append(item)
        else:
            name, at = _piece(data, at)
            members[name], at = _decode(data, at)
    return (items if kind == _LIST else members), at


def _piece(data: bytes, at: int, is_text: bool = True) -> tuple[Any, int]:
    """Read a text, or bytes, after its length."""
    begin = at + _LENGTH.size
    end = begin + _LENGTH.unpack_from(data, at)[0]
    if end > len(data):
        raise PacketError("a value is longer than its packet")
    piece = data[begin:end]
    # Messages of the bundler's quote sources, which need not be UTF-8.
    return (piece.decode("utf-8", "replace") if is_text else piece), end
