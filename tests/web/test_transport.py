"""The transport in memory, and a real one, by the same contract."""

from __future__ import annotations

from typing import Any

from twisted.internet import reactor
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import (
    ClientFactory,
    Factory,
    Protocol,
    connectionDone,
)
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase
from zope.interface import implementer

from ..waiting import until
from .stack import Connection


@implementer(IHalfCloseableProtocol)
class End(Protocol):
    """One end of a connection: what it receives, and how it is closed."""

    def __init__(self) -> None:
        self.got = b""
        self.half_closed = False
        self.lost: Deferred[None] = Deferred()

    def dataReceived(self, data: bytes) -> None:
        """See ``IProtocol``."""
        self.got += data

    def readConnectionLost(self) -> None:
        """See ``IHalfCloseableProtocol``."""
        self.half_closed = True

    def writeConnectionLost(self) -> None:
        """See ``IHalfCloseableProtocol``."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """See ``IProtocol``."""
        self.lost.callback(None)


class TransportContract:
    """
    Facts about every transport that a channel writes to.

    The test case makes it in ``setUp``, as ``self.transport``; ``received`` waits until
    the peer has ``count`` bytes, and ``sent_more`` returns what came after those.
    """

    transport: Any

    async def received(self, count: int) -> bytes:
        """Return the first bytes that the peer has received."""
        raise NotImplementedError

    async def is_half_closed(self) -> bool:
        """Whether the peer is sent no more."""
        raise NotImplementedError

    async def is_cut(self) -> bool:
        """Whether the connection was cut."""
        raise NotImplementedError

    async def test_written(self):
        """What is written arrives in its order; only bytes can be written."""
        self.transport.write(b"a")
        self.transport.writeSequence([b"b", b"c"])
        self.assertEqual(await self.received(3), b"abc")
        self.assertRaises(TypeError, self.transport.write, "text")

    async def test_closed(self):
        """What was written arrives before the end, which begins at once."""
        self.assertFalse(self.transport.disconnecting)
        self.transport.write(b"a")
        self.transport.loseConnection()
        self.assertTrue(self.transport.disconnecting)
        self.transport.loseConnection()
        self.assertEqual(await self.received(1), b"a")

    async def test_half_closed(self):
        """What was written arrives before the end; the connection stays."""
        self.transport.write(b"a")
        self.transport.loseWriteConnection()
        self.assertEqual(await self.received(1), b"a")
        self.assertTrue(await self.is_half_closed())
        self.assertFalse(self.transport.disconnecting)
        self.transport.write(b"lost")
        self.assertEqual(await self.received(1), b"a")

    async def test_cut(self):
        """Nothing that is written later arrives."""
        self.transport.abortConnection()
        self.transport.write(b"lost")
        self.assertTrue(await self.is_cut())
        self.assertEqual(await self.received(0), b"")
        self.transport.abortConnection()

    async def test_paused_while_it_closes(self):
        """Reading goes on and off also when the end has begun."""
        self.transport.loseWriteConnection()
        self.transport.pauseProducing()
        self.transport.resumeProducing()


class ConnectionTests(TransportContract, TestCase):
    """The one in memory."""

    def setUp(self):
        """See ``TransportContract``."""
        here = IPv4Address("TCP", "127.0.0.1", 1)
        self.transport = Connection(hostAddress=here, peerAddress=here)

    async def received(self, count):
        """See ``TransportContract``."""
        return self.transport.value()

    async def is_half_closed(self):
        """See ``TransportContract``."""
        return self.transport.half_closed

    async def is_cut(self):
        """See ``TransportContract``."""
        return self.transport.aborting


class TcpTransportTests(TransportContract, TestCase):
    """A real one."""

    async def setUp(self):  # type: ignore[override]
        """Connect two ends."""
        tcp: Any = reactor
        self.ours, self.peer = End(), End()
        serving = Factory.forProtocol(lambda: self.ours)
        serving.noisy = False
        port = tcp.listenTCP(0, serving, interface="127.0.0.1")
        self.addCleanup(port.stopListening)
        asking = ClientFactory.forProtocol(lambda: self.peer)
        asking.noisy = False
        tcp.connectTCP("127.0.0.1", port.getHost().port, asking)
        await until(lambda: self.ours.transport and self.peer.transport)
        self.transport = self.ours.transport
        self.addCleanup(self.end)

    def end(self) -> Any:
        """Cut both ends, and wait for them."""
        self.transport.abortConnection()
        peer: Any = self.peer.transport
        peer.abortConnection()
        return DeferredList([self.ours.lost, self.peer.lost])

    async def received(self, count):
        """See ``TransportContract``."""
        await until(lambda: len(self.peer.got) >= count)
        return self.peer.got

    async def is_half_closed(self):
        """See ``TransportContract``."""
        await until(lambda: self.peer.half_closed)
        return not self.peer.lost.called

    async def is_cut(self):
        """See ``TransportContract``."""
        await until(lambda: self.ours.lost.called and self.peer.lost.called)
        return True
