"""
Rules on the shape of a source file: that people can read it.

They look at lines of text, before anything is parsed.
"""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Iterator

from ...protocol.limits import (
    SOURCE_BLOB_BITS_PER_CHARACTER,
    SOURCE_BLOB_CHARACTERS,
    SOURCE_ESCAPES,
    SOURCE_LINE_CHARACTERS,
    SOURCE_PACKED_CHARACTERS,
    SOURCE_PACKED_LINES,
)
from ...protocol.rules import INVISIBLE

MINIFIED = "minified"
PACKED = "packed source"

_ESCAPES = re.compile(
    r"(?:\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]+\})"
    f"{{{SOURCE_ESCAPES + 1},}}"
)
_MANGLED = re.compile("_0x[0-9A-Fa-f]{4}")
_BLOB = re.compile(f"[A-Za-z0-9+/=_-]{{{SOURCE_BLOB_CHARACTERS},}}")


def shape_hits(text: str) -> Iterator[tuple[int, str]]:
    """
    Judge a file's lines.

    :param text: With its lines ended by LF alone, and without a byte order mark.
    :return: Line numbers, from 1, and names of rules.
    """
    count = total = 0
    # Read line by line: a list of two million of them takes long to make at once.
    for number, ended in enumerate(io.StringIO(text, newline="\n"), 1):
        line = ended.removesuffix("\n")
        if line.strip():
            count += 1
            total += len(line)
        # What is left of a line this long is not worth the time it takes to read.
        if len(line) > SOURCE_LINE_CHARACTERS:
            yield number, MINIFIED
        else:
            for rule in _line_rules(line):
                yield number, rule
    if count >= SOURCE_PACKED_LINES and total > count * SOURCE_PACKED_CHARACTERS:
        yield 1, PACKED


def _line_rules(line: str) -> Iterator[str]:
    if (not line.isascii() or "\0" in line) and INVISIBLE.search(line):
        yield "invisible characters"
    if "\\" in line and _ESCAPES.search(line):
        yield "escape sequences"
    if "_0x" in line and _MANGLED.search(line):
        yield "mangled identifiers"
    if any(_is_opaque(run) for run in _BLOB.findall(line)):
        yield "opaque blob"


def _is_opaque(run: str) -> bool:
    shares = [count / len(run) for count in Counter(run).values()]
    bits = -sum(share * math.log2(share) for share in shares)
    return bits >= SOURCE_BLOB_BITS_PER_CHARACTER
