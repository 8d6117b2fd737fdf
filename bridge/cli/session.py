"""
One command that asks a running daemon, and what its user sees of that.

It acts as a page does: the daemon applies the same rules, and shows the same prompts.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, Final, TextIO

import click
from attrs import field

from ..classes import define
from ..protocol.errors import Prefix, plugin_error
from ..protocol.steps import Step
from ..protocol.text import in_line, visible
from ..settings.options import Paths
from .command import EXIT_STATUS, Command, command, json_option
from .connection import Connection, connect, shows_prompts
from .terminal import print_result, takes_escapes, wants_colour

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
        with suppress(OSError):
            if columns := os.get_terminal_size(self.stream.fileno()).columns:
                return columns
        return shutil.get_terminal_size((_COLUMNS, 24)).columns

    def _write(self, text: str) -> None:
        with suppress(BrokenPipeError):  # the operation goes on, read or not
            self.stream.write(text)
            self.stream.flush()


@define(eq=False)
class Session:
    """
    A connection to the daemon, and what the user sees of it.

    :ivar place: What the options name.
    :ivar json: Whether to print JSON.
    :ivar interrupted: Whether the user has pressed Ctrl-C.
    :ivar build_error: Why the last build of the operation has failed, if it has.
    """

    place: Paths
    connection: Connection
    progress: ProgressLine
    json: bool = False
    interrupted: bool = field(default=False, init=False)
    build_error: str = field(default="", init=False)
    _ref: str = field(default="", init=False)
    _step: Any = field(default=None, init=False)

    def call(self, service: str, method: str, /, **params: Any) -> Any:
        """
        Call one method.

        :return: The result as plain JSON.
        :raise BridgeError: The daemon refuses.
        :raise CommandError: It ended before it answered.
        """
        return self.connection.call(service, method, **params)

    def operate(self, method: str, **params: Any) -> Any:
        """
        Call a method of ``plugins`` that asks the user; show its progress.

        Ctrl-C cancels it, and what would come after it; the second time, it is left to
        itself.

        :return: The result as plain JSON.
        :raise BridgeError: The daemon refuses, or the user has cancelled.
        :raise KeyboardInterrupt: The user left.
        """
        self.raise_if_interrupted()
        params["ref"] = self._ref = os.urandom(16).hex()
        self._step, self.build_error = None, ""
        self.connection.pushed = self._pushed
        before = signal.signal(signal.SIGINT, self._interrupt)
        try:
            return self.connection.call("plugins", method, **params)
        finally:
            signal.signal(signal.SIGINT, before)
            self._ref = ""
            self.progress.end()

    def raise_if_interrupted(self) -> None:
        """
        Check that the user has not pressed Ctrl-C in an earlier operation.

        :raise BridgeError: ``cancelled``.
        """
        if self.interrupted:
            raise plugin_error(Prefix.CANCELLED, "the operation was cancelled")

    def _pushed(self, event: str, data: Any) -> None:
        if event == "build":
            failed = data.get("ok") is False
            self.build_error = in_line(data["errors"][0]) if failed else ""
        if event != "progress" or not self._ref or data.get("ref") != self._ref:
            return
        begun, self._step = self._step is None, data
        self.progress.report(data)
        if begun and self.interrupted:
            self._cancel()

    def _interrupt(self, *_: object) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
        is_late = self._step and self._step.get("cancellable") is False
        what = "it is too late to cancel" if is_late else "cancelling"
        self.progress.line(f"{what}; press Ctrl-C again to leave without waiting")
        # Until the daemon has named it, there is nothing to cancel.
        if self._step and not is_late:
            self._cancel()

    def _cancel(self) -> None:
        # Whatever that answers, the operation's own answer comes.
        operation = str(self._step.get("operation"))
        self.connection.request("plugins", "cancel", {"operation": operation})

    def print(self, value: Any, lines: list[str]) -> None:
        """Print a result: ``value`` as JSON, or ``lines`` for people."""
        print_result(self.json, value, lines)


@contextmanager
def session(
    place: Paths, as_json: bool = False, *, dev: bool = False
) -> Iterator[Session]:
    """
    Connect for a ``with`` block; see ``connect``.

    :param as_json: Whether to print JSON.
    """
    connection = connect(place, dev=dev)
    progress = ProgressLine(sys.stderr, shows_prompts(connection.welcome))
    try:
        yield Session(place, connection, progress, as_json)
    finally:
        progress.end()
        connection.close()


def daemon_command(
    name: str, example: str, *, prompted: bool = False
) -> Callable[[Callable[..., Any]], Command]:
    """
    Make a command that asks the daemon: its function receives a session.

    The other parameters are those of ``command``.
    """

    def decorate(function: Callable[..., Any]) -> Command:
        @json_option
        @wraps(function)
        def ask(place: Paths, as_json: bool, **params: Any) -> Any:
            with session(place, as_json) as found:
                return function(found, **params)

        made = command(name, example, status=EXIT_STATUS, prompted=prompted)
        return made(ask)

    return decorate
