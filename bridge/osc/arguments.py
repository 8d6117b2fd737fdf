"""The arguments of an OSC message as a caller writes them, in JSON."""

from __future__ import annotations

import struct
from typing import Any, Final

from ..protocol.wire import Check, Schema, patterns, whole
from .packets import Argument, Kind

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
    Kind.STRING: ((str,), {"type": "string", **patterns(whole(r"[^\u0000]*"))}),
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


OSC_ARGUMENT: Final = Check(
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
