"""The progress of an operation: a bar on a terminal, lines anywhere else."""

from __future__ import annotations

import shutil
from typing import Any, Final, TextIO

from attrs import field

from ..classes import define
from ..protocol.steps import Step
from ..protocol.text import visible

_WIDTH: Final = 20
_COLUMNS: Final = 80
_BAR: Final = "\x1b[32m"
_NORMAL: Final = "\x1b[0m"
_ERASED: Final = "\r\x1b[K"

_ORDER: Final = tuple(
    str(step)
    for step in (
        Step.CLONE,
        Step.VALIDATE,
        Step.POLICY,
        Step.SIGNATURE,
        Step.MOVE,
        Step.REMOVE,
        Step.BUILD,
    )
)
"""The steps that move the bar; others, such as a prompt, leave it where it is."""


@define(eq=False)
class ProgressLine:
    """
    Shows one operation.

    :ivar stream: Standard error, so that standard output has only the result.
    :ivar terminal: Whether a line can be written over.
    :ivar colour: Whether the terminal takes colours.
    :ivar prompts: Whether the daemon shows prompts, which the user has to answer.
    """

    stream: TextIO
    terminal: bool
    colour: bool = False
    prompts: bool = True
    _last: str = field(default="", init=False)
    _reached: int = field(default=0, init=False)
    _shown: bool = field(default=False, init=False)

    def report(self, data: Any) -> None:
        """
        Show a step.

        :param data: Of a ``progress`` event, as plain JSON.
        """
        step, message = str(data.get("step")), visible(str(data.get("message")))
        if step in _ORDER:
            self._reached = max(self._reached, _ORDER.index(step) + 1)
        if step == Step.AWAITING_CONFIRMATION and self.prompts:
            end = "" if message.endswith((".", "?")) else "."
            message = f"{message}{end} Answer the prompt on your desktop."
        if self.terminal:
            self._write(self._bar(message))
            self._shown = True
        elif message != self._last:
            self._write(f"{message}\n")
        self._last = message

    def line(self, text: str) -> None:
        """Show a line that stays."""
        self.end()
        self._write(f"{text}\n")

    def end(self) -> None:
        """Remove the bar; the next operation begins a new one."""
        if self._shown:
            self._write(_ERASED)
        self._shown, self._reached, self._last = False, 0, ""

    def _bar(self, message: str) -> str:
        done = _WIDTH * self._reached // len(_ORDER)
        bar = "#" * done + "." * (_WIDTH - done)
        columns = shutil.get_terminal_size((_COLUMNS, 24)).columns
        room = max(0, columns - _WIDTH - 4)
        if self.colour:
            bar = f"{_BAR}{bar}{_NORMAL}"
        return f"{_ERASED}[{bar}] {message[:room]}"

    def _write(self, text: str) -> None:
        encoding = self.stream.encoding or "utf-8"
        self.stream.write(text.encode(encoding, "replace").decode(encoding))
        self.stream.flush()
