"""
The words of a source that may be names which nothing in it declares.

They are found without a lexer: a word in a comment or a string is found too, and costs
nothing but time.  Only the bundler knows which of them are free names.  What directly
follows a single dot is none in any place: it is a member, or no code at all.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from itertools import pairwise
from typing import Final

_BLANKED: Final = bytes(
    code if chr(code).isalnum() or chr(code) in "$_." else ord(" ")
    for code in range(128)
).ljust(256, b" ")
_CHAIN: Final = re.compile(r"[\w$.\x80-\U0010ffff]+", re.ASCII)
_DIGITS: Final = tuple("0123456789")
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_ESCAPE: Final = re.compile(r"\\u(?:\{0*([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{4}))")

_STARTING: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl"})
_CONTINUING: Final = frozenset({"Mn", "Mc", "Nd", "Pc"})
_JOINERS: Final = "\u200c\u200d"


def words_in(text: str) -> set[str]:
    """
    Return every word that may stand for a free name, reserved words among them.

    :param text: Of a source, or of what the bundler made of one.
    """
    found = _plain_words(text)
    if "\\u" in text:
        found |= _plain_words(_ESCAPE.sub(_unescaped, text))
    return {word for word in found if not word.startswith(_DIGITS)}


def _plain_words(text: str) -> set[str]:
    found: set[str] = set()
    if text.isascii():
        for chain in set(text.encode().translate(_BLANKED).split()):
            _add_words(chain.decode(), found)
        return found
    others = {ord(c): " " for c in set(_NOT_ASCII.findall(text)) if not _continues(c)}
    for chain in set(_CHAIN.findall(text.translate(others))):
        _add_words(chain, found)
    return {word for word in found if word[0].isascii() or _starts(word[0])}


def _add_words(chain: str, into: set[str]) -> None:
    """Add the words of what has dots and no blanks, without those after one dot."""
    first, dot, rest = chain.partition(".")
    if first:
        into.add(first)
    # Two dots: after a number, or of three.
    if dot and (rest.startswith(".") or ".." in rest):
        parts = rest.split(".")
        into.update(part for before, part in pairwise(parts) if part and not before)


def _unescaped(escape: re.Match[str]) -> str:
    code = int(escape[1] or escape[2], 16)
    return chr(code) if code <= sys.maxunicode else " "


def _starts(char: str) -> bool:
    """Whether a name may start with a character that is not ASCII."""
    return char.isidentifier() or unicodedata.category(char) in _STARTING


def _continues(char: str) -> bool:
    """Whether a name may have such a character in it."""
    return (
        f"a{char}".isidentifier()
        or char in _JOINERS
        or unicodedata.category(char) in _STARTING | _CONTINUING
    )
