"""
What a fast reader of JSON lets pass, and we do not.

orjson refuses NaN, what is infinite, lone surrogates and what trails.  It gives an
integer of more than 64 bits as the nearest float, and it builds any number of values
while it holds the interpreter: both are found here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .errors import BridgeError, Code
from .limits import JSON_DEPTH, JSON_VALUES, KIB

_PIECE_BYTES = 64 * KIB
_STRUCTURE = b",:[{"
_WIDE_FLOAT = float(2**63)
_INTEGERS = range(-(2**63), 2**64)
_LONG_INTEGER = re.compile(rb"(?<![0-9.eE+-])-?[0-9]{19,}(?![0-9.eE])")


def check_size(text: bytes) -> None:
    """
    Refuse a text of so many values that reading it would hold up everybody else.

    Each comma, colon and opening bracket outside a string stands for a value.

    :raise BridgeError: ``bad_request``.
    """
    if sum(map(text.count, _STRUCTURE)) <= JSON_VALUES:
        return  # even if all of them are
    values = 0
    for piece in _outside_strings(text):
        values += len(piece) - len(piece.translate(None, _STRUCTURE))
        if values > JSON_VALUES:
            raise BridgeError(
                Code.BAD_REQUEST, f"JSON of more than {JSON_VALUES} values"
            )


def check_value(text: bytes, value: Any) -> None:
    """
    Refuse what nests too deep, and integers that could not be read exactly.

    :param value: What ``text`` was read as.
    :raise BridgeError: ``bad_request``.
    """
    wide, level = False, [value]
    for _ in range(JSON_DEPTH + 1):
        wide = wide or any(
            type(found) is float and abs(found) >= _WIDE_FLOAT for found in level
        )
        containers = [found for found in level if type(found) in (dict, list)]
        if not containers:
            break
        level = [
            inner
            for outer in containers
            for inner in (outer.values() if type(outer) is dict else outer)
        ]
    else:
        raise BridgeError(
            Code.BAD_REQUEST, f"JSON nested deeper than {JSON_DEPTH} levels"
        )
    if wide and _holds_wide_integer(text):
        raise BridgeError(Code.BAD_REQUEST, "an integer of more than 64 bits")


def _holds_wide_integer(text: bytes) -> bool:
    # Numbers end with a bracket or a comma, not only with a space.
    spaces = b" \t\r\n"
    plain = b"".join(piece.translate(None, spaces) for piece in _outside_strings(text))
    return any(int(found) not in _INTEGERS for found in _LONG_INTEGER.findall(plain))


def _outside_strings(text: bytes) -> Iterator[bytes]:
    """Give what is not within strings, in pieces: none takes a millisecond."""
    within, held = False, b""
    for start in range(0, len(text), _PIECE_BYTES):
        piece = held + text[start : start + _PIECE_BYTES]
        # What the last backslash escapes is in the next piece.
        escapes = len(piece) - len(piece.rstrip(b"\\"))
        held = b"\\" * (escapes % 2)
        parts = (
            piece[: len(piece) - len(held)]
            .replace(b"\\\\", b"")
            .replace(b'\\"', b"")
            .split(b'"')
        )
        yield b"".join(parts[within::2])
        within ^= len(parts) % 2 == 0
