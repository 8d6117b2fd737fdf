"""
The beginning of a value's JSON, and how long all of it is.

For values so large that writing them at once would hold the interpreter: in a thread,
other threads run between the steps.
"""

from __future__ import annotations

from typing import Any, Final

from attrs import field

from ..classes import define
from .strictjson import dumps

_STEP_CHARACTERS: Final = 64 * 1024


def excerpt(value: Any, most: int) -> tuple[str, int]:
    """
    Write a value, and keep the beginning.

    :param value: Plain JSON, as ``strictjson.loads`` returns it.
    :param most: How many characters to keep.
    :return: What ``strictjson.dumps`` would begin with, and how many characters it has.
    """
    writer = _Writer(most)
    writer.write(value)
    return "".join(writer.kept), writer.characters


@define(eq=False, repr=False)
class _Writer:
    """Counts what it writes."""

    room: int
    kept: list[str] = field(factory=list)
    characters: int = 0

    def write(self, value: Any) -> None:
        kind = type(value)
        if kind is str:
            self._write_text(value)
        elif kind is list:
            self._append("[")
            for number, item in enumerate(value):
                self._append("," * (number > 0))
                self.write(item)
            self._append("]")
        elif kind is dict:
            self._append("{")
            for number, (key, item) in enumerate(value.items()):
                self._append("," * (number > 0))
                self._write_text(key)
                self._append(":")
                self.write(item)
            self._append("}")
        else:
            self._append(dumps(value).decode("ascii"))

    def _write_text(self, text: str) -> None:
        self._append('"')
        for start in range(0, len(text), _STEP_CHARACTERS):
            step = dumps(text[start : start + _STEP_CHARACTERS])
            self._append(step[1:-1].decode("utf-8"))
        self._append('"')

    def _append(self, written: str) -> None:
        self.characters += len(written)
        if self.room > 0:
            self.kept.append(written[: self.room])
            self.room -= len(written)
