"""
The one reader and writer of JSON, with the checks that a fast parser does not make.

orjson refuses NaN, infinities, lone surrogates and trailing text.  It builds any number
of values while it holds the interpreter, and reads what nests deeper than we do: both
are checked here.  An integer of more than 64 bits is read as the nearest double, as
every number is for the page that wrote it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, Self

import orjson

from ..classes import define
from .errors import bad_request
from .limits import JSON_DEPTH, JSON_VALUES, KIB

_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")

SAFE_INTEGER: Final = 2**53 - 1
"""Whole numbers beyond it are sent as strings: pages would read another number."""

# Processed within a millisecond.
_PIECE_BYTES = 64 * KIB
_STRUCTURE = b",:[{"


@define(eq=False, repr=False)
class Size:
    """
    Counts the values of a JSON text, piece by piece as it comes.

    Each comma, colon and opening bracket outside a string stands for a value.

    :ivar values: How many there are; not counted on when there are too many.
    """

    values: int = 0
    _within: bool = False
    _held: bytes = b""

    def feed(self, piece: bytes) -> None:
        """Count the values of the next piece."""
        if self.values <= JSON_VALUES:
            plain = self._outside(piece)
            self.values += len(plain) - len(plain.translate(None, _STRUCTURE))

    def _outside(self, piece: bytes) -> bytes:
        """Return the part of the next piece that is outside strings."""
        piece = self._held + piece
        # What the last backslash escapes is in the next piece.
        escapes = len(piece) - len(piece.rstrip(b"\\"))
        self._held = b"\\" * (escapes % 2)
        whole = piece[: len(piece) - len(self._held)]
        parts = whole.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(parts[self._within :: 2])
        self._within ^= len(parts) % 2 == 0
        return outside

    @classmethod
    def of(cls, text: bytes) -> Self:
        """Count the values of a whole text."""
        size = cls()
        for start in range(0, len(text), _PIECE_BYTES):
            size.feed(text[start : start + _PIECE_BYTES])
        return size


def is_bounded(text: bytes, size: Size | None = None) -> bool:
    """
    Whether a JSON text has no more values than a request needs.

    :param size: Of this text, when it was counted as it came.
    """
    # A shorter text has fewer.
    return len(text) <= JSON_VALUES or (size or Size.of(text)).values <= JSON_VALUES


def loads(text: bytes, size: Size | None = None) -> Any:
    """
    Read strict JSON (RFC 8259) that a caller sent: no NaN, no lone surrogates, neither
    deep nor of more values than a request needs.

    The last of duplicate keys wins; ``loads_unique`` refuses them.

    :param size: Of this text, when it was counted as it came.
    :raise BridgeError: ``bad_request``.
    """
    if not is_bounded(text, size):
        raise bad_request(f"JSON of more than {JSON_VALUES} values")
    return loads_own(text)


def loads_own(text: bytes) -> Any:
    """
    Read strict JSON of any number of values, from a file or a program of ours.

    :raise BridgeError: ``bad_request``.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        pass  # it holds a copy of the text, so it must not be an exception's context
    else:
        _check_depth(text, value)
        return value
    # Pages cut texts within an emoji, and ``JSON.stringify`` writes the half as this.
    half = ", or half of a surrogate pair in a text" if _SURROGATE.search(text) else ""
    raise bad_request(f"not JSON{half}")


def loads_unique(text: bytes) -> Any:
    """
    Read strict JSON in which no object has a key twice.

    For what is signed or kept: a manifest, a signature, the state file.

    :raise BridgeError: ``bad_request``.
    """
    value = loads_own(text)
    try:
        json.loads(text, object_pairs_hook=unique)
    except ValueError:
        raise bad_request("an object has a key twice") from None
    return value


def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """
    Make an object of its members.

    :raise ValueError: It has a key twice.
    """
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError
    return made


def dumps(value: Any) -> bytes:
    """Write JSON: compact, UTF-8."""
    return orjson.dumps(value)


def _check_depth(text: bytes, value: Any) -> None:
    """
    Refuse what nests too deep.

    :param value: What ``text`` was read as.
    :raise BridgeError: ``bad_request``.
    """
    if text.count(b"{") + text.count(b"[") <= JSON_DEPTH:
        return
    containers: list[Any] = [[value]]
    for _ in range(JSON_DEPTH + 1):
        containers = [
            inner
            for outer in containers
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) in (dict, list)
        ]
        if not containers:
            return
    raise bad_request(f"JSON nested deeper than {JSON_DEPTH} levels")
