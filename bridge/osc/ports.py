"""The two UDP ports of OSC, both on 127.0.0.1: one to send from, one to listen on."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from attrs import field
from twisted.internet.defer import Deferred, DeferredLock, maybeDeferred, succeed
from twisted.internet.error import MessageLengthError
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.protocol import DatagramProtocol
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..classes import define
from ..protocol import limits
from ..protocol.errors import BridgeError, unavailable
from .pacing import Pacing
from .packets import Message, UnreadableError, decode

_LOOPBACK: Final = "127.0.0.1"


def _bound(reactor: Any, port: int, protocol: DatagramProtocol) -> Any:
    """
    Open a port; ``OSError`` when it can't be.

    ``listenUDP`` would leave the socket of a failed bind to the garbage collection.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        # An avatar change sends hundreds of values at once.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limits.OSC_BUFFER_BYTES)
        bound.bind((_LOOPBACK, port))
        bound.setblocking(False)
        # A byte more than may come, or what is longer would be cut off unseen.
        return reactor.adoptDatagramPort(
            bound.fileno(), socket.AF_INET, protocol, limits.OSC_DATAGRAM_BYTES + 1
        )


def _read_one(bound: Any, log: Logger) -> None:
    """Read one datagram, instead of the port's ``doRead``."""
    try:
        datagram, source = bound.socket.recvfrom(bound.maxPacketSize)
    except OSError:
        return
    try:
        bound.protocol.datagramReceived(datagram, source)
    except Exception:  # noqa: BLE001 (the reactor would close the port)
        log.failure("a datagram of OSC could not be passed on")


class _OscPort(DatagramProtocol):
    """
    A protocol whose ``repr`` Twisted does not log.

    It would reach every page: for a receiver it is the whole daemon, settings included.
    """

    noisy = False


@define(eq=False, repr=False)
class Sender:
    """
    Sends datagrams; its port is opened with the first.

    It is not connected: Twisted closes a connected port when its target does not
    listen.
    """

    _reactor: Any
    _port: Any = None

    def send(self, datagram: bytes, port: int) -> None:
        """
        Send a datagram to a port of 127.0.0.1, whether or not a program listens.

        :raise BridgeError: ``unavailable``: the system does not accept it now.
        """
        try:
            if self._port is None:
                self._port = _bound(self._reactor, 0, _OscPort())
                # Readers never answer, and others could send without end.
                self._port.stopReading()
            self._port.write(datagram, (_LOOPBACK, port))
        except (MessageLengthError, OSError):
            raise unavailable("the system accepts no datagrams now") from None

    def close(self) -> Deferred[Any]:
        """Close the port."""
        port, self._port = self._port, None
        return succeed(None) if port is None else maybeDeferred(port.stopListening)


@define(eq=False, repr=False)
class Receiver(_OscPort):
    """
    Receives on one port.

    :ivar port: Its number.
    :ivar received: How many messages came.
    :ivar undecodable: How many datagrams could not be read, and were ignored.
    """

    port: int
    pacing: Pacing
    received: int = 0
    undecodable: int = 0
    transport: Any = None

    def datagramReceived(self, datagram: bytes, addr: Any) -> None:
        """Read a datagram, which any program on this machine may have sent."""
        try:
            messages = decode(datagram)
        except UnreadableError:
            self.undecodable += 1
            return
        self.received += len(messages)
        for message in messages:
            self.pacing.put(message)

    async def close(self) -> None:
        """Stop; returns when the port can be bound again."""
        self.pacing.stop()
        await maybeDeferred(self.transport.stopListening)


@define(eq=False, repr=False)
class PortLeases:
    """
    The leases on the port: at most one for each holder.

    A holder that disconnects leaves its lease behind, for ``OSC_LEASE_SECONDS``. Each
    holder that connects adopts one of those, the one left last. So there are never
    more leases than there were holders at once, however often they reconnect.

    :ivar _expired: Called when a lease that was left behind has expired.
    """

    _clock: IReactorTime
    _expired: Callable[[], None]
    _holders: set[object] = field(factory=set)
    _left: list[IDelayedCall] = field(factory=list)

    def __len__(self) -> int:
        return len(self._holders) + len(self._left)

    def add(self, holder: object) -> None:
        """Record that ``holder`` wants the port; a second time changes nothing."""
        self._holders.add(holder)

    def remove(self, holder: object) -> bool:
        """
        End a lease.

        :return: Whether there was one.
        """
        held = holder in self._holders
        self._holders.discard(holder)
        return held

    @property
    def left(self) -> list[float]:
        """How many seconds each lease that was left behind has still."""
        return [one.getTime() - self._clock.seconds() for one in self._left]

    def release_later(self, holder: object) -> None:
        """Keep the lease of a holder that has disconnected for the next to connect."""
        if self.remove(holder):
            self.keep(limits.OSC_LEASE_SECONDS)

    def keep(self, seconds: float) -> None:
        """Add a lease that was left behind: of a page, or before a restart."""
        expiry = self._clock.callLater(seconds, lambda: self._expire(expiry))
        self._left.append(expiry)

    def adopt(self, holder: object) -> None:
        """Pass the lease that was left last, if there is one, to ``holder``."""
        if self._left and holder not in self._holders:
            self._left.pop().cancel()
            self._holders.add(holder)

    def clear(self) -> None:
        """End every lease."""
        self._holders.clear()
        for expiry in self._left:
            expiry.cancel()
        self._left.clear()

    def _expire(self, expiry: IDelayedCall) -> None:
        self._left.remove(expiry)
        self._expired()


@define(eq=False, repr=False)
class Listener:
    """
    At most one port, listened on for as long as it is held; see ``PortLeases``.

    Operations run in order, each after the one before it is done: a port
    that was released can be bound again at once.

    :ivar push: Called with messages, at the rate that ``Pacing`` allows.
    :ivar changed: Called when the port or a lease may have changed.
    :ivar receiver: What receives now, if anything does.
    :ivar leases: Those on the port.
    """

    _reactor: Any
    _push: Callable[[Message], None]
    _changed: Callable[[], None]
    receiver: Receiver | None = None
    _restoring: IDelayedCall | None = None
    leases: PortLeases = field(init=False)
    _lock: DeferredLock = field(factory=DeferredLock)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self.leases = PortLeases(self._reactor, self._expired)

    @property
    def port(self) -> int | None:
        """The port that is listened on, if one is."""
        return self.receiver.port if self.receiver else None

    def restore(self, port: int, leases: Sequence[float]) -> Deferred[None]:
        """
        Listen on ``port`` again, after a restart; its leases are left for pages.

        :param leases: For how many seconds each is.
        :return: Fails with ``unavailable`` when the port is taken.  It is tried again
            then, until it is opened or no lease is left.
        """
        return self._lock.run(self._restore, port, leases)

    def hold(self, holder: object, port: int) -> Deferred[bool]:
        """
        Listen on ``port``, instead of any other, until ``holder`` releases it.

        :return: Whether it was not listened on before.  Fails with ``unavailable``
            when the port is taken; what was listened on is then kept.
        """
        return self._lock.run(self._hold, holder, port)

    def release(self, holder: object) -> Deferred[bool]:
        """
        End a lease; the last one closes the port.

        :return: Whether the port was closed.
        """
        return self._lock.run(self._release, holder)

    def release_later(self, holder: object) -> Deferred[None]:
        """Leave a lease behind: ``holder`` has disconnected; see ``PortLeases``."""
        return self._change(self.leases.release_later, holder)

    def adopt(self, holder: object) -> Deferred[None]:
        """Pass a lease that was left behind to ``holder``, which has connected."""
        return self._change(self.leases.adopt, holder)

    def _change(
        self, change: Callable[[object], None], holder: object
    ) -> Deferred[None]:
        changing = self._lock.run(change, holder)
        return changing.addCallback(lambda _: self._changed())

    def close(self) -> Deferred[None]:
        """Close the port, with all leases."""
        return self._lock.run(self._shut)

    async def _restore(self, port: int, leases: Sequence[float]) -> None:
        for seconds in leases:
            self.leases.keep(seconds)
        if self.receiver is not None or not self.leases:
            return
        try:
            await self._listen(port)
        except BridgeError:
            self._restoring = self._reactor.callLater(
                limits.OSC_RESTORE_SECONDS, self.restore, port, ()
            )
            if leases:
                raise  # the first time
        else:
            self._changed()

    async def _hold(self, holder: object, port: int) -> bool:
        started = self.port != port
        if started:
            await self._listen(port)
        self.leases.add(holder)
        self._changed()
        return started

    async def _listen(self, port: int) -> None:
        receiver = Receiver(port, Pacing(self._reactor, self._push))
        try:
            bound = _bound(self._reactor, port, receiver)
        except OSError as e:
            why = f"cannot be opened: {e.strerror}"
            if e.errno == errno.EADDRINUSE:
                why = "is in use by another program"
            raise unavailable(f"the OSC port {why}") from None
        # The worst datagram takes 15 ms: at most one per turn of the reactor. The
        # port's own limit counts bytes, of which an empty datagram has none.
        bound.doRead = partial(_read_one, bound, self._log)
        await self._close()
        self.receiver = receiver

    async def _release(self, holder: object) -> bool:
        closed = self.leases.remove(holder) and await self._close_unheld()
        self._changed()
        return closed

    def _expired(self) -> None:
        closing = self._lock.run(self._close_unheld)
        closing.addCallback(lambda _: self._changed())
        closing.addErrback(self._close_failed)

    def _close_failed(self, failure: Failure) -> None:
        self._log.failure("the OSC port could not be closed", failure)

    async def _shut(self) -> None:
        self.leases.clear()
        if self._restoring is not None and self._restoring.active():
            self._restoring.cancel()
        await self._close_unheld()

    async def _close_unheld(self) -> bool:
        if self.leases:
            return False
        await self._close()
        return True

    async def _close(self) -> None:
        closing, self.receiver = self.receiver, None
        if closing is not None:
            await closing.close()
