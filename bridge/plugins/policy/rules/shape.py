"""
Rules on the shape of a source file: that people can read it.

They look at its text, before anything reads it as code.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

from ....protocol import limits

MINIFIED = "minified"
PACKED = "packed source"

# Lines are taken so many characters at a time: a list of two million of them would
# take long to make at once.
_CHUNK = 64 * limits.KIB

_ESCAPES = re.compile(
    r"(?:\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]+\})"
    f"{{{limits.SOURCE_ESCAPES + 1},}}"
)
# These hide, turn text around, or end a line for some readers of JavaScript only.
_INVISIBLE = re.compile(
    "[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u2028\u2029\0]"
)
_SOURCE_MAP = re.compile(r"[#@]\s*sourceMappingURL\s*=")
_MANGLED = re.compile("_0x[0-9A-Fa-f]{4}")
_BLOB = re.compile(f"[A-Za-z0-9+/=_-]{{{limits.SOURCE_BLOB_CHARACTERS},}}")


def shape_hits(text: str) -> Iterator[tuple[int, str]]:
    """
    Check a file's lines.

    :param text: With its lines ended by LF alone, and without a byte order mark.
    :return: Line numbers, from 1, and names of rules.
    """
    count = total = 0
    number = 1
    for lines in _chunks(text):
        written = list(filter(str.strip, lines))
        count += len(written)
        total += sum(map(len, written))
        # Almost every chunk is plain, and needs no look at each of its lines.
        if written and (
            max(map(len, written)) >= limits.SOURCE_BLOB_CHARACTERS
            or next(_text_rules("\n".join(written)), None)
        ):
            for place, line in enumerate(lines, number):
                for rule in _line_rules(line):
                    yield place, rule
        number += len(lines)
    if (
        count >= limits.SOURCE_PACKED_LINES
        and total > count * limits.SOURCE_PACKED_CHARACTERS
    ):
        yield 1, PACKED


def _chunks(text: str) -> Iterator[list[str]]:
    start = 0
    while start < len(text):
        end = text.find("\n", start + _CHUNK)
        end = len(text) if end < 0 else end
        yield text[start:end].split("\n")
        start = end + 1


def _line_rules(line: str) -> Iterator[str]:
    # What is left of a line this long is not worth the time it takes to read.
    if len(line) > limits.SOURCE_LINE_CHARACTERS:
        yield MINIFIED
        return
    yield from _text_rules(line)
    if any(_is_opaque(run) for run in _BLOB.findall(line)):
        yield "opaque blob"


def _text_rules(text: str) -> Iterator[str]:
    if (not text.isascii() or "\0" in text) and _INVISIBLE.search(text):
        yield "invisible characters"
    if "\\" in text and _ESCAPES.search(text):
        yield "escape sequences"
    if "sourceMappingURL" in text and _SOURCE_MAP.search(text):
        yield "source map reference"
    if "_0x" in text and _MANGLED.search(text):
        yield "mangled identifiers"


def _is_opaque(run: str) -> bool:
    shares = [count / len(run) for count in Counter(run).values()]
    bits = -sum(share * math.log2(share) for share in shares)
    return bits >= limits.SOURCE_BLOB_BITS_PER_CHARACTER
