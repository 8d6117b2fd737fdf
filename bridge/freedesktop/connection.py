"""
One connection to a bus, by txdbus; the only module that knows it.

Where txdbus would hang or believe too much, this does otherwise: connecting ends, the
sender of a reply is compared with the callee, signals bypass its router (which ignores
their sender), and waiting callers learn of a loss after the bookkeeping is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import UNIXClientEndpoint
from twisted.internet.error import ConnectionClosed
from twisted.internet.protocol import Factory
from twisted.logger import Logger
from twisted.python.failure import Failure
from txdbus.authentication import ClientAuthenticator
from txdbus.client import DBusClientConnection
from txdbus.error import RemoteError
from txdbus.message import MethodCallMessage
from txdbus.objects import DBusObjectHandler

from ..protocol.limits import DESKTOP_SECONDS
from ..protocol.text import ascii_line
from .messages import BUS, Call, DesktopError, Signal

_REASON_CHARACTERS: Final = 60


class _External(ClientAuthenticator):
    """Authenticates by the socket's credentials only."""

    preference: ClassVar[list[bytes]] = [b"EXTERNAL"]

    def _usesUnixSocketTransport(self, _: Any) -> bool:
        """Accept no file descriptors, which nothing would close."""
        return False


class SessionBusConnection(DBusClientConnection):
    """
    A connection to a bus.

    :ivar received: Called with each ``Signal``.
    :ivar lost: Called once, when a connection that was made is lost.
    """

    authenticator = _External
    received: Callable[[Signal], object]
    lost: Callable[[], object]

    _log: ClassVar[Logger] = Logger()

    def __init__(self, made: Deferred[SessionBusConnection]) -> None:
        self._made = made
        self._is_lost = False
        self._pendingCalls: dict[int, tuple[Deferred[Any], Any]] = {}

    def call(self, call: Call) -> Deferred[tuple[Any, ...]]:
        """
        Call a method; the caller decides how long it waits.

        :return: Fires with the results.  Fails with ``DesktopError`` when they are an
            error or another program's, and when the connection is lost.
        """
        return Deferred.fromCoroutine(self._call(call))

    async def _call(self, call: Call) -> tuple[Any, ...]:
        if self._is_lost:
            raise DesktopError("the session bus is gone")
        message = _message(call)
        try:
            reply = await self.callRemoteMessage(message)
        except RemoteError as e:
            # Its message is in the server's words; of its name the end says enough.
            why = ascii_line(e.errName.rpartition(".")[2], _REASON_CHARACTERS)
            text = f"{call.method} was refused on the session bus: {why}"
            raise DesktopError(text) from None
        except ConnectionClosed:
            raise DesktopError("the session bus is gone") from None
        finally:
            # txdbus keeps one that is waited for no more.
            self._pendingCalls.pop(message.serial, None)
        if reply.sender != call.remote.destination:
            raise DesktopError("another program answered")
        return tuple(reply.body or ())

    def send(self, call: Call) -> None:
        """Call a method whose result nothing depends on."""
        if not self._is_lost:
            self.callRemoteMessage(_message(call, expects_reply=False))

    def drop(self) -> None:
        """Close the connection at once."""
        self.transport.abortConnection()

    def close(self) -> None:
        """Send what was written, then close the connection."""
        self.transport.loseConnection()

    def signalReceived(self, signal: Any) -> None:
        """Pass a signal on; see ``txdbus.client``."""
        try:
            self.received(
                Signal(
                    signal.sender or "",
                    signal.path or "",
                    signal.interface or "",
                    signal.member or "",
                    signal.signature or "",
                    tuple(signal.body or ()),
                )
            )
        except Exception:  # noqa: BLE001
            self._log.failure("a signal could not be handled")

    def connectionAuthenticated(self) -> None:
        """Send the bus its hello; see ``txdbus.protocol``."""
        # Answers every caller that we export no object.
        self.objHandler = DBusObjectHandler(self)
        self.call(Call(BUS, "Hello")).addCallbacks(self._named, self._not_made)

    def _named(self, result: tuple[Any, ...]) -> None:
        (self.busName,) = result
        if not self._made.called:
            self._made.callback(self)

    def _not_made(self, failure: Failure) -> None:
        if not self._made.called:
            self._made.errback(failure)

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
        self._not_made(Failure(DesktopError("the session bus did not let us in")))


def connect(
    reactor: Any, path: str, received: Callable[[Signal], object]
) -> Deferred[Any]:
    """
    Connect to the bus at a Unix socket.

    :param received: See ``SessionBusConnection``.
    :return: Fires with the ``SessionBusConnection`` once the bus has named it.  Fails
        with ``DesktopError`` when it has not within five seconds.
    """
    made: Deferred[SessionBusConnection] = Deferred(lambda _: _give_up())
    connection = SessionBusConnection(made)
    connection.received = received
    connection.lost = lambda: None
    factory = Factory.forProtocol(lambda: connection)
    factory.noisy = False
    opening = UNIXClientEndpoint(reactor, path).connect(factory)

    def _give_up() -> None:
        opening.cancel()
        if connection.transport is not None:
            connection.drop()

    def not_opened(_: Failure) -> None:
        if not made.called:
            made.errback(DesktopError("nothing listens where the session bus should"))

    opening.addErrback(not_opened)
    return made.addTimeout(
        DESKTOP_SECONDS,
        reactor,
        lambda _, __: Failure(DesktopError("the session bus does not answer")),
    )


def _message(call: Call, *, expects_reply: bool = True) -> MethodCallMessage:
    try:
        return MethodCallMessage(
            call.remote.path,
            call.method,
            interface=call.remote.interface,
            destination=call.remote.destination,
            signature=call.signature or None,
            body=list(call.arguments),
            expectReply=expects_reply,
        )
    # The library raises what its code happens to run into: IndexError, ...
    except Exception:  # noqa: BLE001
        raise DesktopError(f"{call.method} cannot be written for the bus") from None
