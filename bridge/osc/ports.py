"""
The two UDP ports of OSC, both on 127.0.0.1: one to send from, one to listen on.

A port is closed by its ``connectionLost``, at once; ``stopListening`` would close it in
the next turn, until which the port could not be bound again.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from attrs import field
from twisted.internet.error import MessageLengthError
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.protocol import DatagramProtocol
from twisted.logger import Logger

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

    def close(self) -> None:
        """Close the port."""
        port, self._port = self._port, None
        if port is not None:
            port.connectionLost()


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

    def close(self) -> None:
        """Stop; the port can be bound again at once."""
        self.pacing.stop()
        self.transport.connectionLost()


@define(eq=False, repr=False)
class Listener:
    """
    At most one port, listened on for as long as there is a lease on it.

    A holder has at most one lease.  One that disconnects leaves it behind, for
    ``OSC_LEASE_SECONDS``.  Each holder that connects adopts one of those, the one left
    last.  So there are never more leases than there were holders at once, however
    often they reconnect.

    :ivar push: Called with messages, at the rate that ``Pacing`` allows.
    :ivar changed: Called when the port or a lease may have changed.
    :ivar receiver: What receives now, if anything does.
    :ivar holders: Who holds the port.
    """

    _reactor: Any
    _push: Callable[[Message], None]
    _changed: Callable[[], None]
    receiver: Receiver | None = None
    holders: set[object] = field(factory=set)
    _left: list[IDelayedCall] = field(factory=list)
    _restoring: IDelayedCall | None = None

    _log: ClassVar[Logger] = Logger()

    @property
    def port(self) -> int | None:
        """The port that is listened on, if one is."""
        return self.receiver.port if self.receiver else None

    @property
    def is_leased(self) -> bool:
        """Whether somebody holds the port, or has left a lease on it."""
        return bool(self.holders or self._left)

    @property
    def left(self) -> list[float]:
        """How many seconds each lease that was left behind has still."""
        return [one.getTime() - self._reactor.seconds() for one in self._left]

    def restore(self, port: int, leases: Sequence[float] = ()) -> None:
        """
        Listen on ``port`` again, after a restart; its leases are left for pages.

        :param leases: For how many seconds each is.
        :raise BridgeError: ``unavailable``: the port is taken.  It is tried again,
            until it is opened or no lease is left.
        """
        for seconds in leases:
            self._leave(seconds)
        if self.receiver is not None or not self.is_leased:
            return
        try:
            self._listen(port)
        except BridgeError:
            self._restoring = self._reactor.callLater(
                limits.OSC_RESTORE_SECONDS, self.restore, port
            )
            if leases:
                raise  # the first time
        else:
            self._changed()

    def hold(self, holder: object, port: int) -> bool:
        """
        Listen on ``port``, instead of any other, until ``holder`` releases it.

        :return: Whether it was not listened on before.
        :raise BridgeError: ``unavailable``: the port is taken; what was listened on is
            kept.
        """
        started = self.port != port
        if started:
            self._listen(port)
        self.holders.add(holder)
        self._changed()
        return started

    def release(self, holder: object) -> bool:
        """
        End a lease; the last one closes the port.

        :return: Whether the port was closed.
        """
        held = holder in self.holders
        self.holders.discard(holder)
        closed = held and self._close_unheld()
        self._changed()
        return closed

    def release_later(self, holder: object) -> None:
        """Keep the lease of a holder that has disconnected for the next to connect."""
        if holder in self.holders:
            self.holders.remove(holder)
            self._leave(limits.OSC_LEASE_SECONDS)
        self._changed()

    def adopt(self, holder: object) -> None:
        """Pass the lease that was left last, if there is one, to ``holder``."""
        if self._left and holder not in self.holders:
            self._left.pop().cancel()
            self.holders.add(holder)
        self._changed()

    def close(self) -> None:
        """Close the port, with all leases."""
        self.holders.clear()
        waiting = [self._restoring] if self._restoring is not None else []
        for timer in (*self._left, *waiting):
            if timer.active():
                timer.cancel()
        self._left.clear()
        self._close_unheld()

    def _leave(self, seconds: float) -> None:
        """Add a lease that was left behind: of a page, or before a restart."""
        expiry: IDelayedCall = self._reactor.callLater(
            seconds, lambda: self._expire(expiry)
        )
        self._left.append(expiry)

    def _expire(self, expiry: IDelayedCall) -> None:
        self._left.remove(expiry)
        self._close_unheld()
        self._changed()

    def _listen(self, port: int) -> None:
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
        self._close()
        self.receiver = receiver

    def _close_unheld(self) -> bool:
        if self.is_leased:
            return False
        self._close()
        return True

    def _close(self) -> None:
        closing, self.receiver = self.receiver, None
        if closing is not None:
            closing.close()
