"""A connection to the session bus, made again when it is lost."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final, Protocol
from urllib.parse import unquote_to_bytes

from attrs import field
from twisted.internet import defer
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IReactorUNIX
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..classes import define
from ..protocol.errors import SHUTTING_DOWN
from ..protocol.limits import DESKTOP_RETRY_SECONDS, DESKTOP_SECONDS
from ..system.files import is_own
from .connection import DesktopError, SessionBusConnection, connect

FIRST_PAUSE_SECONDS: Final = 1.0
CLOSE_SECONDS: Final = 1.0


class User(Protocol):
    """The user of a bus."""

    async def joined(self, link: SessionBusConnection) -> None:
        """
        Set up a new connection, before others use it.

        :raise DesktopError: It can't be used.
        """

    def received(self, signal: Any) -> None:
        """Receive a signal; see ``SessionBusConnection``."""

    def lost(self) -> None:
        """Handle the loss of the connection."""


@define(eq=False, repr=False)
class Bus:
    """
    Keeps a connection to the session bus.

    :ivar environ: The environment with the address of the bus; read for each attempt.
    :ivar link: The connection; ``None`` without one.
    """

    _reactor: Any
    _environ: Mapping[str, str]
    _user: User
    link: SessionBusConnection | None = field(default=None, init=False)
    _since: float = field(default=0.0, init=False)
    _attempt: Deferred[SessionBusConnection] | None = field(default=None, init=False)
    _waiting: list[Deferred[SessionBusConnection]] = field(factory=list, init=False)
    _retry: Any = field(default=None, init=False)
    _pause: float = field(default=FIRST_PAUSE_SECONDS, init=False)
    _is_closed: bool = field(default=False, init=False)
    _gone: Deferred[None] | None = field(default=None, init=False)

    _log: ClassVar[Logger] = Logger()

    def start(self) -> None:
        """Connect, and stay connected from now on."""
        if self._attempt is None:
            self._stop_retry()
            self._attempt = attempt = Deferred.fromCoroutine(self._connect())
            attempt.addCallbacks(self._connected, self._not_connected)

    def connected(self) -> Deferred[SessionBusConnection]:
        """
        Return the connection; without one, try at once to connect.

        :return: Fails with ``DesktopError``.
        """
        if self._is_closed:
            return fail(_stopping())
        if self.link is not None:
            return succeed(self.link)
        waiting: Deferred[SessionBusConnection] = Deferred()
        self._waiting.append(waiting)
        self.start()
        return waiting

    def close(self) -> Deferred[None]:
        """Send what was written, close the connection, and don't reconnect."""
        self._is_closed = True
        self._stop_retry()
        if self._attempt is not None:
            self._attempt.cancel()
        link = self.link
        if link is None:
            return succeed(None)
        self._gone = gone = Deferred[None]()
        link.close()
        # A bus that reads no more would keep the daemon from ending.
        return gone.addTimeout(CLOSE_SECONDS, self._reactor, lambda _, __: link.drop())

    async def _connect(self) -> SessionBusConnection:
        link: SessionBusConnection = await self._opened()
        try:
            joining = Deferred.fromCoroutine(self._user.joined(link))
            await joining.addTimeout(DESKTOP_SECONDS, self._reactor)
        except BaseException:
            link.drop()
            raise
        return link

    async def _opened(self) -> Any:
        if not IReactorUNIX.providedBy(self._reactor):
            raise DesktopError("there is no session bus on this system")
        sockets = session_sockets(self._environ)
        if not sockets:
            raise DesktopError("there is no session bus")
        for path in sockets[:-1]:
            with contextlib.suppress(DesktopError):
                return await connect(self._reactor, path, self._user.received)
        return await connect(self._reactor, sockets[-1], self._user.received)

    def _connected(self, link: SessionBusConnection) -> None:
        self.link, self._attempt = link, None
        self._since = self._reactor.seconds()
        link.lost = self._lost
        for waiter in self._released():
            waiter.callback(link)

    def _not_connected(self, failure: Failure) -> None:
        self._attempt = None
        if self._is_closed:
            failure = Failure(_stopping())
        elif failure.check(defer.TimeoutError):
            failure = Failure(DesktopError("the session bus does not answer"))
        elif not failure.check(DesktopError):
            self._log.failure("the session bus could not be used", failure)
            failure = Failure(DesktopError("the session bus could not be used"))
        self._log.debug("desktop: {reason}", reason=failure.getErrorMessage())
        self._retry_later()
        for waiter in self._released():
            waiter.errback(failure)

    def _released(self) -> list[Deferred[SessionBusConnection]]:
        released, self._waiting = self._waiting, []
        return released

    def _lost(self) -> None:
        self.link = None
        if not self._is_closed:
            self._log.info("desktop: the session bus was lost")
            if self._reactor.seconds() - self._since > DESKTOP_RETRY_SECONDS:
                self._pause = 0.0
            self._retry_later()
        if self._gone is not None and not self._gone.called:
            self._gone.callback(None)
        self._user.lost()

    def _retry_later(self) -> None:
        """Schedule another attempt, with a longer pause each time."""
        may_appear = IReactorUNIX.providedBy(self._reactor) and names_bus(self._environ)
        if may_appear and not self._is_closed:
            self._retry = self._reactor.callLater(self._pause, self.start)
            longer = max(2 * self._pause, FIRST_PAUSE_SECONDS)
            self._pause = min(longer, DESKTOP_RETRY_SECONDS)

    def _stop_retry(self) -> None:
        if self._retry is not None and self._retry.active():
            self._retry.cancel()


def _stopping() -> DesktopError:
    return DesktopError(SHUTTING_DOWN)


VARIABLE: Final = "DBUS_SESSION_BUS_ADDRESS"
RUNTIME: Final = "XDG_RUNTIME_DIR"


def session_sockets(environ: Mapping[str, str]) -> list[str]:
    """
    Return the Unix sockets at which the session bus may listen, best first.

    :param environ: ``DBUS_SESSION_BUS_ADDRESS`` is followed; when it is unset or
        empty, the bus of the user's runtime directory is looked for.
    :return: Paths; an abstract socket's name begins with NUL.  Empty when there is no
        session bus, or none that a Unix socket leads to.
    """
    given = environ.get(VARIABLE, "")
    if given:
        return list(_parsed(given, environ))
    return [path for path in _of_runtime_directory(environ) if _is_own_socket(path)]


def names_bus(environ: Mapping[str, str]) -> bool:
    """
    Whether a session bus may appear where this environment leads.

    A process's environment does not change, so where it leads nowhere, none ever will.
    """
    return bool(environ.get(VARIABLE) or os.path.isabs(environ.get(RUNTIME, "")))


def _parsed(addresses: str, environ: Mapping[str, str]) -> Iterator[str]:
    for address in addresses.split(";"):
        transport, _, rest = address.partition(":")
        keys = _keys(rest)
        if transport != "unix" or "\0" in "".join(keys.values()):
            continue
        if keys.get("path"):
            yield keys["path"]
        elif keys.get("abstract"):
            yield "\0" + keys["abstract"]
        elif keys.get("runtime") == "yes":
            yield from _of_runtime_directory(environ)


def _keys(text: str) -> dict[str, str]:
    """Read ``key=value,...``; values are escaped as in a URL."""
    pairs = [pair.partition("=") for pair in text.split(",")]
    return {
        key: os.fsdecode(unquote_to_bytes(os.fsencode(value)))
        for key, _, value in pairs
    }


def _of_runtime_directory(environ: Mapping[str, str]) -> Iterator[str]:
    directory = environ.get(RUNTIME, "")
    if os.path.isabs(directory):
        yield os.path.join(directory, "bus")


def _is_own_socket(path: str) -> bool:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISSOCK(found.st_mode) and is_own(found)
