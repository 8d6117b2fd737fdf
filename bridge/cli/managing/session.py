"""
One command that manages a running daemon.

It acts as a page does, over the control socket: the daemon applies the same rules, and
shows the same prompts.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Final

from attrs import define, field
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ...protocol.errors import BridgeError, Prefix
from ...settings.options import HostOptions
from ...wiring import oneshot
from ..asking.client import (
    INTERRUPTED,
    NO_DAEMON,
    REFUSED,
    Client,
    NoDaemonError,
    find_control,
)
from ..asking.pagesocket import PageSocket, connect
from ..terminal import CommandError, failed, print_json, print_line, wants_colour
from .plainwords import as_json, plain, prefix_of
from .progress import ProgressLine

EXIT_STATUS: Final = (
    "Exit status: 0 done, 1 refused or failed, 2 wrong usage, 3 no daemon is running, "
    "130 ended by Ctrl-C."
)

PROMPTED: Final = (
    "The daemon asks you with a prompt on your desktop, as it does for the page. "
    "Ctrl-C cancels. "
)

_WITH_REF: Final = frozenset({"install", "update"})


class ManageOptions(HostOptions):
    """The options of the commands that manage a running daemon."""

    optFlags: ClassVar[list[list[str | None]]] = [
        ["json", None, "print one JSON object"]
    ]

    @property
    def json(self) -> bool:
        """Whether to print JSON."""
        return bool(self["json"])


@define(eq=False)
class Session:
    """
    A socket to the daemon, and what the user sees of it.

    :ivar reactor: Stopped by a second Ctrl-C.
    :ivar json: Whether to print JSON.
    :ivar interrupted: Whether the user has pressed Ctrl-C.
    """

    reactor: Any
    page: PageSocket
    progress: ProgressLine
    json: bool
    interrupted: bool = field(default=False, init=False)
    _mine: Callable[[Any], bool] | None = field(default=None, init=False)

    _log: ClassVar[Logger] = Logger()

    async def call(self, service: str, method: str, **params: Any) -> Any:
        """
        Call one method.

        :return: The result as plain JSON.
        :raise BridgeError: The daemon refuses.
        :raise CommandError: It ended before it answered.
        """
        return await self.page.call(service, method, params)

    async def operate(self, method: str, **params: Any) -> Any:
        """
        Call a method of ``plugins`` that asks the user; show its progress.

        :return: The result as plain JSON.
        :raise BridgeError: The daemon refuses, or the user has cancelled.
        """
        if method in _WITH_REF:
            params["ref"] = ref = os.urandom(16).hex()
            self._mine = lambda entry: entry.get("ref") == ref
        else:
            chosen = params.get("id")
            self._mine = lambda entry: (
                (entry.get("op"), entry.get("id"))
                == (
                    method,
                    chosen,
                )
            )
        self.page.pushed = self._pushed
        try:
            return await self.page.call("plugins", method, params)
        finally:
            self._mine = None
            self.progress.end()

    def _pushed(self, event: str, data: Any) -> None:
        if event == "progress" and self._mine is not None and self._mine(data):
            self.progress.report(data)

    def interrupt(self) -> None:
        """Cancel the operation under way; the second time, end without waiting."""
        if self.interrupted or self._mine is None:
            self.reactor.stop()
            return
        self.interrupted = True
        self.progress.line("cancelling; press Ctrl-C again to leave without waiting")
        Deferred.fromCoroutine(self._cancel(self._mine)).addErrback(self._not_cancelled)

    async def _cancel(self, mine: Callable[[Any], bool]) -> None:
        listed = await self.page.call("plugins", "operations", {})
        for entry in listed["operations"]:
            if mine(entry) and entry.get("endedAt") is None:
                name = {"operation": entry["operation"]}
                await self.page.call("plugins", "cancel", name)

    def _not_cancelled(self, failure: Any) -> None:
        failure.trap(BridgeError, CommandError)
        error = failure.value
        why = plain(error) if isinstance(error, BridgeError) else str(error)
        self.progress.line(f"not cancelled: {why}")

    def print(self, value: Any, lines: list[str]) -> None:
        """Print a result: ``value`` as JSON, or ``lines`` for people."""
        if self.json:
            print_json(value, False)
            return
        for line in lines:
            print_line(line)


Work = Callable[[Session], Awaitable[int]]


def manage(command: str, options: ManageOptions, work: Work) -> int:
    """
    Run a command against the running daemon.

    :param work: Returns the exit status.
    :return: The exit status.
    """
    from twisted.internet import reactor

    def run() -> int:
        client = find_control(options)
        return oneshot.run(reactor, lambda: _work(reactor, client, options, work))

    return ended(command, options.json, run)


def ended(command: str, json: bool, run: Callable[[], int]) -> int:
    """
    Run a command; report in plain words why it failed.

    :return: The exit status.
    """
    try:
        return run()
    except NoDaemonError as e:
        return _failed(command, json, "no_daemon", str(e), NO_DAEMON)
    except BridgeError as e:
        cancelled = prefix_of(e) is Prefix.CANCELLED
        status = INTERRUPTED if cancelled else REFUSED
        _failed(command, json, str(e.code), e.message, status, plain(e))
        return status
    except CommandError as e:
        return _failed(command, json, "failed", str(e), REFUSED)
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return INTERRUPTED


def _failed(
    command: str, json: bool, code: str, message: str, status: int, line: str = ""
) -> int:
    if json:
        print_json(as_json(code, message), False)
    failed(command, line or message)
    return status


async def _work(
    reactor: Any, client: Client, options: ManageOptions, work: Work
) -> int:
    page = await connect(reactor, client)
    stream = sys.stderr
    progress = ProgressLine(stream, stream.isatty(), wants_colour(stream, os.environ))
    session = Session(reactor, page, progress, options.json)

    def interrupted(*_: object) -> None:
        reactor.callFromThread(session.interrupt)

    # The reactor has its own handler, which would stop it without cancelling.
    signal.signal(signal.SIGINT, interrupted)
    try:
        return await work(session)
    finally:
        page.close()
