"""
One connection to a bus, by txdbus; the only module that knows it.

Where txdbus would hang or believe too much, this does otherwise: connecting ends, the
sender of a reply is compared with the callee, signals bypass its router (which ignores
their sender), and waiting callers learn of a loss after the bookkeeping is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import UNIXClientEndpoint
from twisted.internet.error import ConnectError, ConnectionClosed
from twisted.internet.protocol import Factory
from twisted.logger import Logger
from twisted.python.failure import Failure
from txdbus.authentication import ClientAuthenticator
from txdbus.client import DBusClientConnection
from txdbus.error import RemoteError
from txdbus.message import MethodCallMessage
from txdbus.objects import DBusObjectHandler

from ..classes import frozen
from ..protocol.limits import DESKTOP_SECONDS
from ..protocol.text import ascii_line

_REASON_CHARACTERS: Final = 60


class Byte(int):
    """A number that goes over the bus as a byte (``y``) where any type may stand."""

    dbusSignature: Final = "y"


class DesktopError(Exception):
    """
    The desktop could not be reached, or did not do what was asked.

    The message is ours and of one line; nothing in it came over the bus.
    """


@frozen
class RemoteInterface:
    """
    An interface of an object of a program on the bus.

    :ivar destination: The program's unique name (``:1.7``), or the bus's own; replies
        of anybody else are refused.
    """

    destination: str
    path: str
    interface: str

    def sent(self, signal: Any, name: str, signature: str) -> bool:
        """Whether it was this that sent a signal, with arguments of these types."""
        come = signal.sender, signal.path, signal.interface
        ours = self.destination, self.path, self.interface
        return come == ours and (signal.member, signal.signature) == (name, signature)


BUS: Final = RemoteInterface(
    "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus"
)
"""The bus itself; no program can send under its name."""


class _External(ClientAuthenticator):
    """Authenticates by the socket's credentials only."""

    preference: ClassVar[list[bytes]] = [b"EXTERNAL"]

    def _usesUnixSocketTransport(self, _: Any) -> bool:
        """Accept no file descriptors, which nothing would close."""
        return False


class SessionBusConnection(DBusClientConnection):
    """
    A connection to a bus.

    :ivar received: Called with each signal, which anybody may have sent: ask whether
        a ``RemoteInterface`` did.
    :ivar lost: Called once, when a connection that was made is lost.
    :ivar authenticated: Fires when the bus has let us in; fails when it does not.
    """

    authenticator = _External
    received: Callable[[Any], object]
    lost: Callable[[], object]

    _log: ClassVar[Logger] = Logger()

    def __init__(self, received: Callable[[Any], object]) -> None:
        self.received, self.lost = received, lambda: None
        self.authenticated: Deferred[None] = Deferred()
        self._is_lost = False
        self._pendingCalls: dict[int, tuple[Deferred[Any], Any]] = {}

    def call(
        self, remote: RemoteInterface, method: str, *given: Any
    ) -> Deferred[tuple[Any, ...]]:
        """
        Call a method; the caller decides how long it waits.

        :param given: If it takes arguments: their types, as D-Bus writes them, and a
            list of them.
        :return: Fires with the results.  Fails with ``DesktopError`` when they are an
            error or another program's, and when the connection is lost.
        """
        return Deferred.fromCoroutine(self._call(remote, method, *given))

    async def _call(
        self, remote: RemoteInterface, method: str, *given: Any
    ) -> tuple[Any, ...]:
        if self._is_lost:
            raise DesktopError("the session bus is gone")
        message = _message(remote, method, *given)
        try:
            reply = await self.callRemoteMessage(message)
        except RemoteError as e:
            # Its message is in the server's words; of its name the end says enough.
            why = ascii_line(e.errName.rpartition(".")[2], _REASON_CHARACTERS)
            text = f"{method} was refused on the session bus: {why}"
            raise DesktopError(text) from None
        except ConnectionClosed:
            raise DesktopError("the session bus is gone") from None
        finally:
            # txdbus keeps one that is waited for no more.
            self._pendingCalls.pop(message.serial, None)
        if reply.sender != remote.destination:
            raise DesktopError("another program answered")
        return tuple(reply.body or ())

    def send(self, remote: RemoteInterface, method: str, *given: Any) -> None:
        """Call a method as ``call`` does, when nothing depends on its result."""
        if not self._is_lost:
            message = _message(remote, method, *given, expects_reply=False)
            self.callRemoteMessage(message)

    def drop(self) -> None:
        """Close the connection at once."""
        self.transport.abortConnection()

    def close(self) -> None:
        """Send what was written, then close the connection."""
        self.transport.loseConnection()

    def signalReceived(self, signal: Any) -> None:
        """Pass a signal on; see ``txdbus.client``."""
        try:
            self.received(signal)
        except Exception:  # noqa: BLE001
            self._log.failure("a signal could not be handled")

    def connectionAuthenticated(self) -> None:
        """Go on, with nothing exported; see ``txdbus.protocol``."""
        # Answers every caller that we export no object.
        self.objHandler = DBusObjectHandler(self)
        self.authenticated.callback(None)

    def dataReceived(self, data: bytes) -> None:
        """Read what arrived; the library trusts the bus to speak D-Bus."""
        try:
            super().dataReceived(data)
        except Exception:  # noqa: BLE001
            self._log.warn("what listens as the session bus does not speak D-Bus")
            self.drop()

    def connectionLost(self, reason: Failure) -> None:
        """Fail every pending call, when no more can be added."""
        self._is_lost = True
        pending, self._pendingCalls = self._pendingCalls, {}
        if self.busName is not None:
            self.lost()
        for waiting, _ in pending.values():
            waiting.errback(reason)
        if not self.authenticated.called:
            error = DesktopError("the session bus did not let us in")
            self.authenticated.errback(error)


def connect(
    reactor: Any, path: str, received: Callable[[Any], object]
) -> Deferred[Any]:
    """
    Connect to the bus at a Unix socket.

    :param received: See ``SessionBusConnection``.
    :return: Fires with the ``SessionBusConnection`` once the bus has named it.  Fails
        with ``DesktopError`` when it has not within five seconds.
    """
    connecting = Deferred.fromCoroutine(_connected(reactor, path, received))
    return connecting.addTimeout(
        DESKTOP_SECONDS,
        reactor,
        lambda _, __: Failure(DesktopError("the session bus does not answer")),
    )


async def _connected(
    reactor: Any, path: str, received: Callable[[Any], object]
) -> SessionBusConnection:
    connection = SessionBusConnection(received)
    factory = Factory.forProtocol(lambda: connection)
    factory.noisy = False
    try:
        await UNIXClientEndpoint(reactor, path).connect(factory)
    except (ConnectError, OSError):
        why = "nothing listens where the session bus should"
        raise DesktopError(why) from None
    try:
        await connection.authenticated
        (connection.busName,) = await connection.call(BUS, "Hello")
    except BaseException:
        connection.drop()
        raise
    return connection


def _message(
    remote: RemoteInterface,
    method: str,
    signature: str = "",
    arguments: Sequence[Any] = (),
    *,
    expects_reply: bool = True,
) -> MethodCallMessage:
    try:
        return MethodCallMessage(
            remote.path,
            method,
            interface=remote.interface,
            destination=remote.destination,
            signature=signature or None,
            body=list(arguments),
            expectReply=expects_reply,
        )
    # The library raises what its code happens to run into: IndexError, ...
    except Exception:  # noqa: BLE001
        raise DesktopError(f"{method} cannot be written for the bus") from None
