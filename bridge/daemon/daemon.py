"""
The daemon's life cycle: it listens, logs its banner, follows its token, and shuts down
in order.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IListeningPort
from twisted.logger import ILogObserver, Logger, LogLevel, globalLogPublisher

from .. import __version__
from ..approval.approvers import Approver
from ..classes import define
from ..concurrency.threads import Pool
from ..datadir.paths import write_atomically
from ..protocol.errors import BridgeError, CloseReason
from ..rpc import Registry
from ..settings.config import Config
from ..settings.host import Paths
from ..settings.values import Address, UnixAddress
from ..sinks.fanout import Fanout
from ..system.processes import (
    Supervisor,
    ends_with_terminal,
    map_large_blocks,
    on_hangup,
    trim,
)
from ..system.reactor import stop
from ..web.guard import FollowedToken
from ..web.websocket.sockets import BridgeFactory
from .controlsocket import ControlSocket
from .listening import Listening

# A thread that computes may keep the reactor waiting for that long, not for 5 ms.
THREAD_TURN_SECONDS = 0.001
_WIDTH: Final = 16
_COMMAND: Final = 30

Line = tuple[str, str]
"""A level, and what is logged."""


@define(eq=False, repr=False)
class Daemon(Service):
    """
    Runs the parts that ``bridge.wiring`` has made.

    :ivar site: What is listened for.
    :ivar control: Listens for commands before pages are listened for.
    :ivar sockets: Those of pages and commands.
    :ivar address_file: Holds the address for commands while the daemon listens.
    :ivar prepare: Starts background work; blocks briefly.
    :ivar settle: Starts what completes within seconds; the banner waits for it.
    :ivar banner: What is logged then.
    :ivar reopen: Reopens log files after they were moved; on SIGHUP.
    :ivar finish: Called at the end, in order: each has a part accept no more work, and
        ends when what was under way is finished or undone.
    :ivar release: Called last: releases the data directory.
    :ivar output: Prints the daemon's own log lines; ``None`` when twistd does.
    :ivar observer: Keeps them in a file, and pushes them to the pages.
    :ivar supervisor: Notified when the daemon is ready, and when it stops.
    """

    _reactor: Any
    _listening: Listening
    _site: Any
    _control: ControlSocket
    _sockets: BridgeFactory
    _token: FollowedToken
    _address_file: Path
    _pools: Sequence[Pool]
    _prepare: Callable[[], object]
    _settle: Callable[[], Deferred[Any]]
    _banner: Callable[[], Iterable[Line]]
    _reopen: Callable[[], object]
    _finish: Sequence[Callable[[], object]]
    _release: Callable[[], None]
    _output: ILogObserver | None
    _observer: ILogObserver
    _supervisor: Supervisor
    _port: IListeningPort | None = None
    _settling: Deferred[Any] | None = None

    _log: ClassVar[Logger] = Logger(namespace="bridge")

    def setServiceParent(self, parent: Any) -> None:
        """Join the application; become its log observer, if there is an output."""
        super().setServiceParent(parent)
        if self._output is not None:
            parent.setComponent(ILogObserver, self._output)

    def startService(self) -> None:
        """Listen."""
        super().startService()
        globalLogPublisher.addObserver(self._observer)
        sys.setswitchinterval(THREAD_TURN_SECONDS)
        map_large_blocks()
        self._control.listen()
        self._port = self._listening.serve(self._reactor, self._site)
        self._publish_address(self._listening.address)
        self._token.replaced = self._token_replaced
        # Both the system and a shell may send the signal.
        end = partial(stop, self._reactor)
        hung_up = end if ends_with_terminal() else self._reopen
        on_hangup(lambda *_: self._reactor.callFromThread(hung_up))
        for pool in self._pools:
            pool.start()
        self._prepare()
        self._supervisor.ready(self._where, self._reactor)
        # Only then is Ctrl-C the reactor's.  Before, it would be lost in a callback.
        self._reactor.callWhenRunning(self._begin)

    def _begin(self) -> None:
        if not self.running:
            return
        self._settling = self._settle()
        self._settling.addBoth(lambda _: self._log_banner())
        why = "could not write the start-up lines"
        self._settling.addErrback(lambda failure: self._log.failure(why, failure))

    @property
    def _where(self) -> str:
        return f"listening on {self._listening}"

    def _log_banner(self) -> None:
        if not self.running:
            return
        for level, line in self._banner():
            self._log.emit(LogLevel.levelWithName(level), "{line}", line=line)
        self._log.info("{where}", where=self._where)
        # What is loaded stays.  Otherwise each full collection would look at all of it,
        # in a turn of 100 ms, and would wait until garbage is a quarter of it.
        gc.freeze()
        trim()

    def _publish_address(self, address: Address | UnixAddress) -> None:
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
        if self._port is not None:
            await maybeDeferred(self._port.stopListening)
        self._sockets.call_waiting()
        for close in (self._control.close, *self._finish):
            try:
                await maybeDeferred(close)
            except BridgeError as e:
                self._log.error("a part could not shut down: {why}", why=e.message)
            except Exception:  # noqa: BLE001
                self._log.failure("a part did not shut down properly")
        await self._sockets.close_all(CloseReason.SHUTDOWN)
        await self._control.close_all(CloseReason.SHUTDOWN)
        for pool in self._pools:
            pool.stop()
        self._release()
        self._supervisor.close()
        globalLogPublisher.removeObserver(self._observer)

    def stopService(self) -> Deferred[None]:
        """Stop listening, finish or undo what was begun, close every socket."""
        super().stopService()
        return Deferred.fromCoroutine(self._stop())

    def _token_replaced(self) -> None:
        """Close the sockets that have shown the token before this one."""
        self._control.close_all(CloseReason.TOKEN_ROTATED)
        self._sockets.close_paired(CloseReason.TOKEN_ROTATED)


def banner(
    config: Config,
    paths: Paths,
    registry: Registry,
    fanout: Fanout,
    approver: Approver,
    log_file: str,
    notices: Sequence[str] = (),
) -> Iterator[Line]:
    """
    Yield the facts an operator needs; none contains the token.

    :param approver: Confirms privileged operations.
    :param log_file: Where the page's log lines go, or ``disabled``.
    :param notices: Notices from the start that the operator should see.
    """
    yield "info", f"plugin-bridge {__version__}, host {config.host}"
    services = registry.describe()
    for name, described in services.items():
        yield "debug", f"service {name}: {described['summary']}"
    for sink in fanout.targets():
        yield "debug", f"sink {sink.name}: [{sink.health()}] {sink.description}"
    confirmed = approver.description
    added = ", ".join(config.allow_origin)
    origins = f"and {added}" if added else "only"
    sinks = ", ".join(f"{sink.name} [{sink.health()}]" for sink in fanout.targets())
    none = "none: no notification sink has started"
    dev = "ON; accepts calls over HTTP, and approves EVERY operation unasked"
    rate = f"{config.rate:g} requests per second, burst {config.burst}"
    for warns, name, text in (
        (False, "data", f"{paths.data.root}"),
        (False, "themes", f"{paths.theme_dir}"),
        (False, "token file", f"{paths.data.token}; --print-token prints it"),
        (False, "services", ", ".join(services)),
        (not sinks, "sinks", sinks or none),
        (confirmed.startswith("none"), "confirmation", confirmed),
        (False, "page's log", log_file),
        (config.dev, "developer mode", dev if config.dev else "off"),
        (bool(added), "origins", f"loopback {origins}"),
        (False, "rate", f"{rate}; {config.threads} threads"),
    ):
        yield "warn" if warns else "info", f"{name:<{_WIDTH}}{text}"
    for notice in notices:
        yield "warn", notice
    yield from _next(config, paths)


def _next(config: Config, paths: Paths) -> Iterator[Line]:
    """Yield what to do next."""
    place = paths.typed
    page = "open" if config.host == "reference" else "run --print-token"
    what = "show the page" if page == "open" else "pair the page with the token"
    for command, about in (
        (f"{page} {place}", what),
        (f"install {place} URL", "install a plugin"),
        (f"doctor {place}", "find problems"),
    ):
        yield "info", f"next: plugin-bridge {command:<{_COMMAND}}  {about}"
