"""The escapes in the strings and names of JavaScript."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"\\(?:u\{([0-9A-Fa-f]{1,8})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})"
    r"|([0-3][0-7]{0,2}|[4-7][0-7]?)|(\r\n|[\s\S]))"
)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CONTINUATIONS = frozenset({"\n", "\r", "\r\n", "\u2028", "\u2029"})


def unescape(text: str) -> str:
    """Decode the escapes of a JavaScript string or identifier."""
    return _ESCAPE.sub(_decoded, text) if "\\" in text else text


def _decoded(match: re.Match[str]) -> str:
    braces, four, two, octal, other = match.groups()
    if other is not None:
        return "" if other in _CONTINUATIONS else _LETTERS.get(other, other)
    code = int(octal, 8) if octal else int(braces or four or two, 16)
    return chr(code) if code < 0x110000 else "\ufffd"
