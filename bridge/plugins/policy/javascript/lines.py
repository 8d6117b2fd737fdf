"""Which line of a source a place in the bundler's output comes from."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

_DIGITS: Final = {
    character: value
    for value, character in enumerate(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    )
}
_CONTINUED: Final = 32
_BITS: Final = 5


class Lines:
    """
    The lines of one source, by place in the output.

    :param output: The bundler's output, which is ASCII.
    :param source_map: Its source map, version 3, of this one source; without one (an
        empty string) every place comes from line 1.
    """

    def __init__(self, output: str, source_map: str) -> None:
        self._starts = [0]
        at = output.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = output.find("\n", at + 1)
        self._places: list[int] = []
        self._lines: list[int] = []
        mappings = json.loads(source_map)["mappings"] if source_map else ""
        for row, column, line in _segments(mappings):
            if row < len(self._starts):
                self._places.append(self._starts[row] + column)
                self._lines.append(line)

    def line(self, place: int) -> int:
        """
        The line a place comes from, counted from 1.

        What the bundler added comes from the nearest line before it.
        """
        found = bisect_right(self._places, place) - 1
        return self._lines[max(found, 0)] + 1 if self._lines else 1


def _segments(mappings: str) -> Iterator[tuple[int, int, int]]:
    """Rows and columns of the output, and the lines they come from, from 0."""
    line = 0
    for row, group in enumerate(mappings.split(";")):
        column = 0
        for segment in filter(None, group.split(",")):
            fields = list(_numbers(segment))
            column += fields[0]
            if len(fields) > 2:
                line += fields[2]
                yield row, column, line


def _numbers(segment: str) -> Iterator[int]:
    value = shift = 0
    for character in segment:
        digit = _DIGITS[character]
        value += (digit & (_CONTINUED - 1)) << shift
        if digit & _CONTINUED:
            shift += _BITS
        else:
            yield -(value >> 1) if value & 1 else value >> 1
            value = shift = 0
