"""The arguments of an OSC message as a caller writes them, in JSON."""

from __future__ import annotations

import struct
from typing import Any, Final

from ..protocol.rules import Check, Schema, patterns, whole
from .packets import Argument, Kind

_KINDS: Final[dict[str, tuple[type, ...]]] = {
    Kind.BOOL: (bool,),
    Kind.INT: (int,),
    Kind.FLOAT: (int, float),
    Kind.STRING: (str,),
}

# The least number that rounds to one that a float of 32 bits can't hold.
_BEYOND_FLOAT: Final = 2.0**128 - 2.0**103
_BOOLEAN: Final[Schema] = {"type": "boolean"}
_INTEGER: Final[Schema] = {
    "type": "integer",
    "minimum": -(2**31),
    "maximum": 2**31 - 1,
}
_FLOAT: Final[Schema] = {
    "type": "number",
    "exclusiveMinimum": -_BEYOND_FLOAT,
    "exclusiveMaximum": _BEYOND_FLOAT,
}
_STRING: Final[Schema] = {"type": "string", **patterns(whole(r"[^\u0000]*"))}


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
        if type(value) not in _KINDS.get(kind, ()):
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


def _of_kind(kind: Kind, value: Schema) -> Schema:
    return {
        "type": "object",
        "required": ["kind", "value"],
        "additionalProperties": False,
        "properties": {"kind": {"const": str(kind)}, "value": value},
    }


_KIND_SCHEMAS: Final = {
    Kind.BOOL: _BOOLEAN,
    Kind.INT: _INTEGER,
    Kind.FLOAT: _FLOAT,
    Kind.STRING: _STRING,
}

OSC_ARGUMENT: Final = Check(
    "a boolean, a number that fits in a 32-bit float, a string without NUL, "
    "or one of these (an integer of 32 bits for int) with its kind: "
    "{kind: bool, int, float or string, value}",
    {
        "anyOf": [
            *(_BOOLEAN, _FLOAT, _STRING),
            *(_of_kind(kind, value) for kind, value in _KIND_SCHEMAS.items()),
        ]
    },
    lambda value: read_argument(value) is None,
)
"""The rule for an argument of an OSC message."""
