"""The daemon's life cycle: it listens, watches its token, and shuts down in order."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from attrs import define, frozen
from twisted.application.service import Service
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IListeningPort
from twisted.logger import ILogObserver, Logger, LogLevel, globalLogPublisher
from twisted.python.failure import Failure

from ..concurrency.threads import Pool
from ..datadir.paths import write_atomically
from ..datadir.token import PairingToken
from ..protocol.errors import CloseReason
from ..settings.values import Address, UnixAddress
from ..web.socket import BridgeFactory
from .allocator import map_large_blocks
from .banner import Banner
from .filewatch import FileWatch
from .listening import Listening
from .sd_notify import Supervisor

# A thread that computes may keep the reactor waiting for that long, not for 5 ms.
THREAD_TURN_SECONDS = 0.001


class Closeable(Protocol):
    """A part with work to finish at shutdown."""

    def close(self) -> Deferred[Any] | None:
        """Accept no more work; fires when work under way is finished or undone."""


@frozen
class LogObservers:
    """
    The observers of the daemon's own log lines.

    :ivar output: Prints them; ``None`` when twistd does.
    :ivar push: Pushes them to the pages.
    """

    output: ILogObserver | None
    push: ILogObserver


# Without a repr: each child that Twisted forks makes the repr of the signal handlers,
# among them a method of this, and it would contain every setting several times.
@define(eq=False, slots=False, repr=False)
class Daemon(Service):
    """
    Runs the parts that ``bridge.tap`` has made.

    :ivar address_file: Holds the address for commands while the daemon listens.
    :ivar prepare: Starts background work before listening; blocks briefly.
    :ivar settle: Starts what completes within seconds; the banner waits for it.
    :ivar banner: What is logged once it listens.
    :ivar finish: The parts to close at the end, in order.
    :ivar release: Called last: releases the data directory.
    :ivar supervisor: Notified when the daemon is ready, and when it stops.
    :ivar status: What the supervisor is notified of besides the address; may be empty.
    :ivar reopen: Reopens log files after they were moved; on SIGHUP.
    """

    _reactor: Any
    _listening: Listening
    _site: Any
    _sockets: BridgeFactory
    _token: PairingToken
    _address_file: Path
    _pools: Sequence[Pool]
    _prepare: Callable[[], object]
    _settle: Callable[[], Deferred[Any]]
    _banner: Banner
    _finish: Sequence[Closeable]
    _release: Callable[[], None]
    _log_observers: LogObservers
    _supervisor: Supervisor
    _status: str
    _reopen: Callable[[], object]
    _port: IListeningPort | None = None
    _watch: FileWatch | None = None
    _settling: Deferred[Any] | None = None

    _log: ClassVar[Logger] = Logger(namespace="bridge")

    def setServiceParent(self, parent: Any) -> None:
        """Join the application; become its log observer, if there is an output."""
        super().setServiceParent(parent)
        if self._log_observers.output is not None:
            parent.setComponent(ILogObserver, self._log_observers.output)

    def startService(self) -> None:
        """Listen."""
        super().startService()
        globalLogPublisher.addObserver(self._log_observers.push)
        sys.setswitchinterval(THREAD_TURN_SECONDS)
        map_large_blocks()
        self._prepare()
        for pool in self._pools:
            pool.start()
        where = f"listening on {self._listening}"
        self._port = self._listening.serve(self._reactor, self._site)
        self._publish_address(self._listening.address)
        self._watch = FileWatch(self._reactor, self._token.path, self._follow_token)
        self._watch.start()
        self._settling = self._settle()
        self._settling.addBoth(lambda _: self._log_banner(where))
        self._settling.addErrback(self._banner_failed)
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, self._hung_up)
        status = "; ".join(filter(None, (where, self._status)))
        self._supervisor.ready(status, self._sockets.context.clock)

    def _log_banner(self, where: str) -> None:
        if not self.running:
            return
        for level, line in self._banner.lines():
            self._log.emit(LogLevel.levelWithName(level), "{line}", line=line)
        self._log.info("{where}", where=where)

    def _banner_failed(self, failure: Failure) -> None:
        self._log.failure("could not write the start-up lines", failure)

    def _hung_up(self, *_: object) -> None:
        self._reactor.callFromThread(self._reopen)

    def _publish_address(self, address: Address | UnixAddress) -> None:
        # A daemon that was killed has left its address.
        with contextlib.suppress(OSError):
            self._address_file.unlink()
        try:
            write_atomically(self._address_file, os.fsencode(f"{address}\n"))
        except OSError as e:
            why = e.strerror or "I/O error"
            self._log.warn("commands cannot find this daemon: {why}", why=why)

    async def _stop(self) -> None:
        self._supervisor.stopping()
        with contextlib.suppress(OSError):
            self._address_file.unlink()
        if self._settling is not None:
            self._settling.cancel()
        if self._watch is not None:
            self._watch.close()
        if self._port is not None:
            await maybeDeferred(self._port.stopListening)
        for part in self._finish:
            try:
                await maybeDeferred(part.close)
            except Exception:  # noqa: BLE001
                self._log.failure("a part did not shut down properly")
        await self._sockets.close_all(CloseReason.SHUTDOWN)
        for pool in self._pools:
            pool.stop()
        self._release()
        self._supervisor.close()
        globalLogPublisher.removeObserver(self._log_observers.push)

    def stopService(self) -> Deferred[None]:
        """Stop listening, finish or undo what was begun, close every socket."""
        super().stopService()
        return Deferred.fromCoroutine(self._stop())

    def _follow_token(self) -> None:
        """Close every socket when the token was replaced."""
        if self._token.reload():
            self._log.warn("the pairing token was replaced; every page must pair again")
            self._sockets.close_all(CloseReason.TOKEN_ROTATED)
