"""
The daemon as a child: of the demo, and of ``plugin-bridge open``.

Run as a module, this is the command as such a child: it ends when its standard input
does, so also when its parent was killed.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
from contextlib import suppress
from typing import Any, Final

from attrs import field
from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessExitedAlready
from twisted.internet.interfaces import IProcessTransport
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from ..classes import define
from ..settings.options import Paths

_OUTPUT_BYTES: Final = 4096
_END_SECONDS: Final = 30.0
"""As long as the service's supervisor gives it."""


@define(eq=False)
class DaemonProcess(ProcessProtocol):
    """
    The daemon, as a child.

    :ivar ended: Fires when the process has ended.
    :ivar died: So does this, unless it was asked to end.
    :ivar printed: The last of what it printed.
    """

    ended: Deferred[None] = field(factory=Deferred)
    died: Deferred[None] = field(factory=Deferred)
    is_leaving: bool = False
    printed: bytes = b""

    def outReceived(self, data: bytes) -> None:
        """Keep it, for when the daemon does not start."""
        self.printed = (self.printed + data)[-_OUTPUT_BYTES:]

    errReceived = outReceived

    def processEnded(self, reason: Failure) -> None:
        """Notify those that wait for that."""
        self.ended.callback(None)
        if not self.is_leaving:
            self.died.callback(None)


def spawn_daemon(reactor: Any, place: Paths, *options: str) -> DaemonProcess:
    """
    Start a daemon as its user would, which the reactor's shutdown ends.

    It imports from where this process does, and never from the working directory,
    which may be a plugin's.
    """
    isolated = ["-P", *["-S"] * sys.flags.no_site]
    line = [
        *(sys.executable, *isolated, "-m", __name__, "run"),
        *place.options,
        # A variable, or config.toml, may name others.
        f"--data-dir={place.data.root}",
        f"--theme-dir={place.theme_dir}",
        *options,
    ]
    daemon = DaemonProcess()
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process: IProcessTransport = reactor.spawnProcess(
        daemon, line[0], line, env=environ
    )
    reactor.addSystemEventTrigger("before", "shutdown", _end, reactor, process, daemon)
    return daemon


def _end(reactor: Any, process: Any, daemon: DaemonProcess) -> Deferred[None] | None:
    if daemon.ended.called:
        return None
    daemon.is_leaving = True
    try:
        process.signalProcess("TERM")
    except ProcessExitedAlready:
        return None

    def kill() -> None:
        with suppress(ProcessExitedAlready):
            process.signalProcess("KILL")

    killing = reactor.callLater(_END_SECONDS, kill)
    daemon.ended.addCallback(lambda _: killing.active() and killing.cancel())
    return daemon.ended


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    runpy.run_module("bridge", run_name="__main__", alter_sys=True)
