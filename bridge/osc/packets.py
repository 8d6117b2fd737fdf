"""
OSC 1.0 packets: from messages to bytes, and from any bytes to messages; and the
arguments of a message as a caller writes them, in JSON.

python-osc does the encoding of each value.  The walk over a packet is ours: its
own loops forever over a bundle whose element has a negative size, goes backwards
at a blob with one, and logs every type it does not know.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final

from ..classes import frozen
from ..protocol.limits import OSC_ARGUMENTS, OSC_BUNDLE_DEPTH, OSC_DATAGRAM_BYTES
from ..protocol.strictjson import SAFE_INTEGER
from ..protocol.wire import Rule, Schema, whole

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


# The least number that rounds to one that a float of 32 bits can't hold.
_BEYOND_FLOAT: Final = 2.0**128 - 2.0**103

_KINDS: Final[dict[str, tuple[tuple[type, ...], Schema]]] = {
    Kind.BOOL: ((bool,), {"type": "boolean"}),
    Kind.INT: ((int,), {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}),
    Kind.FLOAT: (
        (int, float),
        {
            "type": "number",
            "exclusiveMinimum": -_BEYOND_FLOAT,
            "exclusiveMaximum": _BEYOND_FLOAT,
        },
    ),
    Kind.STRING: ((str,), {"type": "string", "pattern": whole(r"[^\u0000]*")}),
}
"""What a value of each kind may be, in Python and in JSON Schema."""


def read_argument(given: Any) -> Argument | None:
    """
    Read an argument as a caller writes it.

    :param given: A boolean, a string, a number, or ``{kind, value}``.
    :return: ``None`` when it breaks the rule ``OSC_ARGUMENT``.
    """
    if isinstance(given, dict):
        if set(given) != {"kind", "value"} or not isinstance(given["kind"], str):
            return None
        kind, value = given["kind"], given["value"]
        if kind not in _KINDS or type(value) not in _KINDS[kind][0]:
            return None
        return _fitting(Kind(kind), value)
    if isinstance(given, bool):
        return Argument(Kind.BOOL, given)
    if isinstance(given, str):
        return _fitting(Kind.STRING, given)
    if isinstance(given, int):
        return _fitting(Kind.INT, given) or _fitting(Kind.FLOAT, given)
    return _fitting(Kind.FLOAT, given) if isinstance(given, float) else None


def _fitting(kind: Kind, value: Any) -> Argument | None:
    """Make an argument, unless its value does not fit in an OSC packet."""
    try:
        if kind is Kind.INT:
            struct.pack(">i", value)
        elif kind is Kind.FLOAT:
            struct.pack(">f", value := float(value))
    except (struct.error, OverflowError):
        return None
    if kind is Kind.STRING and "\0" in value:
        return None
    return Argument(kind, value)


def _of_kind(kind: str, value: Schema) -> Schema:
    return {
        "type": "object",
        "required": ["kind", "value"],
        "additionalProperties": False,
        "properties": {"kind": {"const": str(kind)}, "value": value},
    }


OSC_ARGUMENT: Final = Rule(
    "a boolean, a number that fits in a 32-bit float, a string without NUL, "
    "or one of these (an integer of 32 bits for int) with its kind: "
    "{kind: bool, int, float or string, value}",
    {
        "anyOf": [
            *(_KINDS[kind][1] for kind in (Kind.BOOL, Kind.FLOAT, Kind.STRING)),
            *(_of_kind(kind, value) for kind, (_, value) in _KINDS.items()),
        ]
    },
    lambda value: read_argument(value) is None,
)
"""The rule for an argument of an OSC message."""
