"""Output of commands: readable JSON, progress, private files and errors."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

import click
from attrs import field

from ..classes import define
from ..protocol.errors import UserError
from ..protocol.steps import Step
from ..protocol.text import INVISIBLE, visible
from ..system.files import create

# Marks, of which not all are called combining, and joiners.
_NO_COLUMN: Final = ("Mn", "Me", "Cf")

_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*+")(?P<colon>:)?'
    r"|(?P<number>-?[0-9][0-9.eE+-]*)|(?P<word>true|false|null)"
)


class CommandError(UserError):
    """
    Why a command failed.

    :ivar status: The exit status.
    """

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


@contextlib.contextmanager
def reported(what: str) -> Iterator[None]:
    """Report an ``OSError`` of a block as why a command failed: ``what``, and why."""
    try:
        yield
    except OSError as e:
        raise CommandError(f"{what}: {e.strerror}") from None


def _escaped(found: re.Match[str]) -> str:
    return found[0] if found[0] == "\n" else json.dumps(found[0])[1:-1]


def _coloured(found: re.Match[str]) -> str:
    if found["colon"]:
        return click.style(found["string"], "blue", bold=True) + ":"
    if found["string"]:
        return click.style(found["string"], "green")
    return click.style(found[0], "cyan" if found["number"] else "magenta")


def takes_escapes(stream: TextIO) -> bool:
    """Whether ``stream`` is a terminal that obeys control sequences."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def wants_colour(stream: TextIO) -> bool:
    """Whether ``stream`` is a terminal with colours, and its user wants them."""
    return takes_escapes(stream) and not os.environ.get("NO_COLOR")


def write_private(path: Path, content: bytes) -> None:
    """
    Create a file for its owner only, and write it durably.

    :raise CommandError: There is something at ``path``, which stays; or it cannot be
        created or written, and nothing is left of it.
    """
    with reported(f"{path} cannot be written"):
        try:
            file = create(path)
        except FileExistsError:
            why = f"{path} exists already; it is never replaced"
            raise CommandError(why) from None
        try:  # only now, for what could not be created may be another's file
            with file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                path.unlink()
            raise


def print_line(text: str) -> None:
    """Print a line; a command goes on when its output is read no more."""
    try:
        print(text)
    except BrokenPipeError:
        give_up_output()


def give_up_output() -> None:
    """Lose what is printed from now on, and at the exit what was not written yet."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: Any, compact: bool = False) -> None:
    """
    Print plain JSON, with visible characters only, in the colours of a terminal.

    :param compact: On one line, instead of indented by two.
    """
    # A question mark in place of what the encoding lacks would be another value.
    ascii_only = (sys.stdout.encoding or "UTF-8").upper() != "UTF-8"
    layout: Any = {"separators": (",", ":")} if compact else {"indent": 2}
    text = json.dumps(value, ensure_ascii=ascii_only, **layout)
    # In JSON they can stand in strings only, where an escape means the same.
    text = INVISIBLE.sub(_escaped, text)
    print_line(_TOKEN.sub(_coloured, text) if wants_colour(sys.stdout) else text)


def print_result(as_json: bool, value: Any, lines: Iterable[str]) -> None:
    """Print what a command found: ``value`` as JSON, or ``lines`` for people."""
    if as_json:
        print_json(value)
        return
    for line in lines:
        print_line(line)


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """
    Align the cells of rows in columns, as a terminal shows them.

    :param rows: Each as long as the others; the first is the header.
    """
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell + " " * (width - _width(cell))
            for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def counted(number: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def first_of(lines: Sequence[str], most: int) -> list[str]:
    """Return the first lines, and a line that counts the others."""
    more = len(lines) - most
    return [*lines[:most], *[f"and {more} more"] * (more > 0)]


def _width(text: str) -> int:
    """Return how many columns a terminal takes for a text."""
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in text)
    marks = sum(unicodedata.category(each) in _NO_COLUMN for each in text)
    return len(text) + wide - marks


def confirmed(question: str, what: str, default: bool) -> bool:
    """
    Ask the user whether to go on.

    :param what: What is asked for, for a refusal.
    :raise CommandError: Nobody can be asked.
    """
    if not sys.stdin.isatty():
        raise CommandError(f"{what}; add --yes")
    return click.confirm(question, default=default)


_WIDTH: Final = 20
_COLUMNS: Final = 80
_ERASED: Final = "\r\x1b[K"

_ORDER: Final[tuple[str, ...]] = (
    Step.CLONE,
    Step.VALIDATE,
    Step.POLICY,
    Step.SIGNATURE,
    Step.MOVE,
    Step.REMOVE,
    Step.BUILD,
)
"""The steps that move the bar; others, such as a prompt, leave it where it is."""


@define(eq=False)
class ProgressLine:
    """
    Shows one operation.

    :ivar stream: Standard error, so that standard output has only the result.
    :ivar prompts: Whether the daemon shows prompts, which the user has to answer.
    """

    stream: TextIO
    prompts: bool = True
    _last: str | None = field(default=None, init=False)
    _reached: int = field(default=0, init=False)

    def report(self, data: Any) -> None:
        """
        Show a step.

        :param data: Of a ``progress`` event, as plain JSON.
        """
        step, message = str(data.get("step")), visible(str(data.get("message")))
        if step in _ORDER:
            self._reached = max(self._reached, _ORDER.index(step) + 1)
        if step == Step.AWAITING_CONFIRMATION:
            where = "Answer the prompt on your desktop"
            # First, as what does not fit in a narrow terminal is cut.
            message = f"{where if self.prompts else 'No prompt is shown'}: {message}"
        if takes_escapes(self.stream):
            self._write(self._bar(message))
        elif message != self._last:
            self._write(f"{message}\n")
        self._last = message

    def line(self, text: str) -> None:
        """Show a line that stays."""
        self.end()
        self._write(f"{text}\n")

    def end(self) -> None:
        """Remove the bar; the next operation begins a new one."""
        if self._last is not None and takes_escapes(self.stream):
            self._write(_ERASED)
        self._reached, self._last = 0, None

    def _bar(self, message: str) -> str:
        done = _WIDTH * self._reached // len(_ORDER)
        bar = "#" * done + "." * (_WIDTH - done)
        room = max(0, self._columns() - _WIDTH - 4)
        if wants_colour(self.stream):
            bar = click.style(bar, "green")
        return f"{_ERASED}[{bar}] {message[:room]}"

    def _columns(self) -> int:
        # Of this stream: standard output may be a pipe, to which Python's own answers.
        with contextlib.suppress(OSError):
            if columns := os.get_terminal_size(self.stream.fileno()).columns:
                return columns
        return shutil.get_terminal_size((_COLUMNS, 24)).columns

    def _write(self, text: str) -> None:
        with contextlib.suppress(BrokenPipeError):  # the operation goes on, read or not
            self.stream.write(text)
            self.stream.flush()
