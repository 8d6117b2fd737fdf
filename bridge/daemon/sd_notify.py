"""Notifies a service supervisor such as systemd: ready, alive, stopping."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from functools import cache
from typing import Final

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from ..classes import define
from ..system.supervision import SOCKET, notify

_INTERVAL: Final = "WATCHDOG_USEC"
_PROCESS: Final = "WATCHDOG_PID"


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
    _watch: LoopingCall | None = None

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
        return cls(address if address[:1] in ("/", "@") else "", seconds)

    def ready(self, where: str, clock: IReactorTime) -> None:
        """Send READY, and from now on problems and the watchdog's sign of life."""
        self._where = where
        self._send(f"READY=1\n{self._status}")
        if self.address and self.alive_seconds:
            self._watch = LoopingCall(self._send, "WATCHDOG=1")
            self._watch.clock = clock
            self._watch.start(self.alive_seconds, now=True)

    def problem(self, problem: str) -> None:
        """Send what keeps the daemon from its work, if that changes; "" if nothing."""
        if problem != self._problem:
            self._problem = problem
            if self._where:
                self._send(self._status)

    @property
    def _status(self) -> str:
        return f"STATUS={'; '.join(filter(None, (self._where, self._problem)))}"

    def stopping(self) -> None:
        """Send STOPPING; the signs of life continue until ``close``."""
        self._send("STOPPING=1")

    def close(self) -> None:
        """Stop sending."""
        if self._watch is not None and self._watch.running:
            self._watch.stop()

    def _send(self, text: str) -> None:
        notify(self.address, text)


@cache
def supervisor() -> Supervisor:
    """Return the supervisor of this process; its environment is read once."""
    return Supervisor.find(os.environ, os.getpid())
