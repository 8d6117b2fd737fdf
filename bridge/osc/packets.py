"""
OSC 1.0 packets: from messages to bytes, and from any bytes to messages.

python-osc does the encoding of each value.  The walk over a packet is ours: its
own loops forever over a bundle whose element has a negative size, goes backwards
at a blob with one, and logs every type it does not know.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final

from ..classes import frozen
from ..protocol.limits import OSC_ARGUMENTS, OSC_BUNDLE_DEPTH, OSC_DATAGRAM_BYTES
from ..protocol.strictjson import SAFE_INTEGER

Value = bool | int | float | str | None


class Kind(StrEnum):
    """What an argument is."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    STRING = "string"
    OTHER = "other"


@frozen
class Argument:
    """
    One argument of a message.

    :ivar kind: What it is.
    :ivar value: Null for what is ``other``: a blob, a colour, an array, a number that
        is not finite.  A string for an integer beyond 2^53-1.
    """

    kind: Kind
    value: Value


@frozen
class Message:
    """
    A message: its address and its arguments.

    :ivar address: Where in the receiver it goes.
    :ivar args: Its arguments, in order.
    """

    address: str
    args: list[Argument]


class UnreadableError(ValueError):
    """The bytes are no OSC packet, or one beyond our limits."""


_BUNDLE: Final = b"#bundle\0"
_TIME_TAG_BYTES: Final = 8
_SIZE_BYTES: Final = 4

# Every type tag of OSC 1.0: its kind, and python-osc's reader of its bytes if it
# has any.  What is read of the other kinds is not looked at.
_TAGS: Final[dict[str, tuple[Kind, str | None]]] = {
    "i": (Kind.INT, "get_int"),
    "h": (Kind.INT, "get_int64"),
    "f": (Kind.FLOAT, "get_float"),
    "d": (Kind.FLOAT, "get_double"),
    "s": (Kind.STRING, "get_string"),
    "S": (Kind.STRING, "get_string"),
    "T": (Kind.BOOL, None),
    "F": (Kind.BOOL, None),
    "b": (Kind.OTHER, "get_blob"),
    "t": (Kind.OTHER, "get_int64"),
    "c": (Kind.OTHER, "get_int"),
    "r": (Kind.OTHER, "get_int"),
    "m": (Kind.OTHER, "get_int"),
    "N": (Kind.OTHER, None),
    "I": (Kind.OTHER, None),
}


def encode(message: Message) -> bytes:
    """
    Write one message.

    :param message: Of kinds other than ``other``; integers of 32 bits, numbers that
        a 32-bit float can hold, strings without NUL.
    """
    from pythonosc.osc_message_builder import OscMessageBuilder

    builder = OscMessageBuilder(message.address)
    for argument in message.args:
        builder.add_arg(argument.value, _tag(argument))
    return builder.build().dgram


def _tag(argument: Argument) -> str:
    if argument.kind is Kind.BOOL:
        return "T" if argument.value else "F"
    return {Kind.INT: "i", Kind.FLOAT: "f", Kind.STRING: "s"}[argument.kind]


def decode(packet: bytes) -> list[Message]:
    """
    Read a message, or all messages of a bundle, whose time tags are ignored.

    :raise UnreadableError: The packet is malformed, or over a limit.
    """
    if len(packet) > OSC_DATAGRAM_BYTES:
        raise UnreadableError("too large")
    return list(_messages(packet, OSC_BUNDLE_DEPTH))


def _messages(packet: bytes, depth: int) -> Iterator[Message]:
    if not packet.startswith(_BUNDLE):
        yield _message(packet)
        return
    if not depth:
        raise UnreadableError("bundles nested too deep")
    at = len(_BUNDLE) + _TIME_TAG_BYTES
    if at > len(packet):
        raise UnreadableError("a bundle ends in its time tag")
    while at < len(packet):
        begin = at + _SIZE_BYTES
        at = begin + int.from_bytes(packet[at:begin], "big")
        if at > len(packet):
            raise UnreadableError("an element ends outside its bundle")
        yield from _messages(packet[begin:at], depth - 1)


def _message(packet: bytes) -> Message:
    reader = _Reader(packet)
    address = reader.read("get_string")
    if not address.startswith("/"):
        raise UnreadableError("an address must start with /")
    # Old senders leave the type tags out when there are no arguments.
    tags = reader.read("get_string") if reader.at < len(packet) else ","
    if not tags.startswith(",") or len(tags) > OSC_ARGUMENTS + 1:
        raise UnreadableError("not type tags, or too many")
    return Message(address, list(_arguments(reader, tags[1:])))


class _Reader:
    """Reads one value after the other, and only forwards."""

    def __init__(self, packet: bytes) -> None:
        self.at = 0
        self._packet = packet

    def read(self, name: str) -> Any:
        """Read a value with python-osc's reader of that name."""
        from pythonosc.parsing import osc_types

        try:
            value, end = getattr(osc_types, name)(self._packet, self.at)
        except (osc_types.ParseError, UnicodeDecodeError) as e:
            raise UnreadableError("a value is cut off, or not UTF-8") from e
        if not self.at < end <= len(self._packet):
            raise UnreadableError("a value ends outside its packet")
        if name == "get_blob" and self._packet[self.at] & 0x80:
            raise UnreadableError("a blob of negative size")
        self.at = end
        return value


def _arguments(reader: _Reader, tags: str) -> Iterator[Argument]:
    depth = 0
    for tag in tags:
        if tag == "[":
            if not depth:
                yield Argument(Kind.OTHER, None)
            depth += 1
        elif tag == "]":
            depth -= 1
            if depth < 0:
                raise UnreadableError("an array ends that did not begin")
        else:
            argument = _argument(reader, tag)
            if not depth:
                yield argument
    if depth:
        raise UnreadableError("an array does not end")


def _argument(reader: _Reader, tag: str) -> Argument:
    if tag not in _TAGS:
        raise UnreadableError("an unknown type tag")
    kind, name = _TAGS[tag]
    value = reader.read(name) if name else tag == "T"
    if kind is Kind.FLOAT and not math.isfinite(value):
        kind = Kind.OTHER
    if kind is Kind.INT and abs(value) > SAFE_INTEGER:
        value = str(value)
    return Argument(kind, None if kind is Kind.OTHER else value)
