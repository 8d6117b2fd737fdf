"""
How a process reports to a service supervisor, such as systemd, that started it.

The protocol is one datagram per message to the socket that ``NOTIFY_SOCKET`` names
(sd_notify(3)).  Without such a socket nothing is sent.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from functools import cache
from typing import Any, Final, TextIO

from ..classes import define

SOCKET: Final = "NOTIFY_SOCKET"
_INTERVAL: Final = "WATCHDOG_USEC"
_PROCESS: Final = "WATCHDOG_PID"


def notify(address: str, text: str) -> None:
    """
    Send a message; a supervisor that does not listen is ignored.

    :param address: Its socket: a path, or an abstract name that starts with ``@``.
    """
    if address[:1] not in ("/", "@"):
        return
    name = "\0" + address[1:] if address.startswith("@") else address
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        sender.sendto(text.encode(), name)


def report_failure(why: str, address: str) -> None:
    """
    Report why the daemon does not start: to the user, the journal and the supervisor.

    :param address: See ``notify``.
    """
    notify(address, f"STATUS=could not start: {' '.join(why.split())}")
    level = "<3>" if to_journal(sys.stderr, os.environ) else ""
    sys.stderr.write(f"{level}plugin-bridge: {why}\n")


def to_journal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether ``stream`` is what ``JOURNAL_STREAM`` names (systemd.exec(5))."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


@define(eq=False, repr=False)
class Supervisor:
    """
    The supervisor that started this process, if one did.

    :ivar address: Its socket, as ``notify`` takes it; "" when there is none.
    :ivar alive_seconds: How often it wants a sign of life; 0 when it wants none.
    """

    address: str = ""
    alive_seconds: float = 0.0
    _where: str = ""
    _problem: str = ""
    _watch: Any = None

    @classmethod
    def find(cls, environ: MutableMapping[str, str], pid: int) -> Supervisor:
        """
        Read the supervisor from the environment, and remove it for child processes.

        :param environ: Its ``NOTIFY_SOCKET`` and ``WATCHDOG_*`` are removed.
        :param pid: This process; the watchdog may be for another.
        """
        address = environ.pop(SOCKET, "")
        interval = environ.pop(_INTERVAL, "")
        process = environ.pop(_PROCESS, str(pid))
        watched = process == str(pid) and interval.isascii() and interval.isdigit()
        # Twice in each interval, as sd_watchdog_enabled(3) advises.
        seconds = int(interval) / 2_000_000 if watched else 0.0
        return cls(address, seconds)

    def ready(self, where: str, clock: Any) -> None:
        """Send READY, and from now on problems and the watchdog's sign of life."""
        self._where = where
        notify(self.address, f"READY=1\n{self._status}")
        if self.address and self.alive_seconds:
            # Loaded by a daemon, and by no command.
            from twisted.internet.task import LoopingCall

            self._watch = LoopingCall(notify, self.address, "WATCHDOG=1")
            self._watch.clock = clock
            self._watch.start(self.alive_seconds, now=True)

    def problem(self, problem: str) -> None:
        """Send what keeps the daemon from its work, if that changes; "" if nothing."""
        if problem != self._problem:
            self._problem = problem
            if self._where:
                notify(self.address, self._status)

    @property
    def _status(self) -> str:
        return f"STATUS={'; '.join(filter(None, (self._where, self._problem)))}"

    def stopping(self) -> None:
        """Send STOPPING; the signs of life continue until ``close``."""
        notify(self.address, "STOPPING=1")

    def close(self) -> None:
        """Stop sending."""
        if self._watch is not None and self._watch.running:
            self._watch.stop()


@cache
def supervisor() -> Supervisor:
    """Return the supervisor of this process; its environment is read once."""
    return Supervisor.find(os.environ, os.getpid())
