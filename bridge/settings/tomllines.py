"""
Where the keys of a TOML file are, for messages that name the line.

The standard library's parser returns values without places. This reads a text that it
has accepted once more, as far as places need it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Final

from ..classes import frozen

# Where a value ends, and what could be mistaken for that.
_MARK: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"""+|' + r"'''.*?'''+"
    r'|"(?:[^"\\\n]|\\.)*"' + r"|'[^'\n]*'"
    r"|\#[^\n]*|[\[{]|[\]}]|\n",
    re.DOTALL,
)
_BLANKS: Final = re.compile(r"(?:\s|\#[^\n]*)*")
_KEY: Final = r"""(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)"""
_KEYS: Final = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
_TABLE: Final = re.compile(rf"\[\[?[ \t]*({_KEYS})[ \t]*\]\]?")
_FIELD: Final = re.compile(rf"({_KEYS})[ \t]*=")

Path = tuple[str, ...]


@frozen
class TomlLines:
    """
    The lines of a file's tables and fields; what is in braces is not listed.

    :ivar lines: By the keys that lead there; lines count from 1.
    """

    lines: dict[Path, int]

    @classmethod
    def read(cls, text: str) -> TomlLines:
        """
        Read a text.

        :param text: TOML, as ``tomllib`` has accepted it.
        """
        lines: dict[Path, int] = {}
        table: Path = ()
        at = _end_of_blanks(text, 0)
        while at < len(text):
            line = text.count("\n", 0, at) + 1
            if found := _TABLE.match(text, at):
                path = table = _path(found[1])
            elif found := _FIELD.match(text, at):
                path = (*table, *_path(found[1]))
            else:
                break
            for length in range(1, len(path) + 1):
                lines.setdefault(path[:length], line)
            at = _end_of_blanks(text, _end_of_line(text, found.end()))
        return cls(lines)

    def of(self, path: Sequence[str]) -> int:
        """
        Return the line of a key, or of the nearest table around it.

        :return: 0 when neither is in the file.
        """
        known = (self.lines.get(tuple(path[:n]), 0) for n in range(len(path), 0, -1))
        return next(filter(None, known), 0)


def _path(keys: str) -> Path:
    """Return the keys of a dotted key."""
    value: object = tomllib.loads(f"{keys} = 0")
    found: list[str] = []
    while isinstance(value, dict):
        ((key, value),) = value.items()
        found.append(key)
    return tuple(found)


def _end_of_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _end_of_line(text: str, at: int) -> int:
    """Find the end of the line on which a value ends that begins at ``at``."""
    depth = 0
    for found in _MARK.finditer(text, at):
        mark = found[0]
        if mark == "\n" and depth == 0:
            return found.start()
        depth += (mark in "[{") - (mark in "]}")
    return len(text)
