"""Tests for bridge.osc.ports, over real UDP."""

import resource
import socket
from typing import Any
from unittest import mock

from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import Clock, deferLater
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.osc.packets import Argument, Kind, Message, encode
from bridge.osc.ports import Listener, PortLeases, Sender
from bridge.protocol.errors import BridgeError, Code

from ..ports import free_udp_port
from ..waiting import until

HELLO = Message("/hello", [Argument(Kind.INT, 1)])


class FailureTests(TestCase):
    def setUp(self) -> None:
        self.sender = Sender(reactor)
        self.addCleanup(self.sender.close)

    def assert_unavailable(self, datagram: bytes) -> None:
        error = self.assertRaises(BridgeError, self.sender.send, datagram, 9000)
        self.assertEqual(error.code, Code.UNAVAILABLE)

    def test_no_socket_left(self) -> None:
        """Without a port there is nothing to send from; later there may be."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            self.assert_unavailable(b"x")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self.sender.send(b"x", free_udp_port())

    def test_refused_datagram(self) -> None:
        """What the system refuses to send is ``unavailable``."""
        self.assert_unavailable(b"x" * 70_000)


class HoldsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.lengths: list[int] = []
        self.leases = PortLeases(
            self.clock, lambda: self.lengths.append(len(self.leases))
        )

    def test_leaving_without_a_hold(self) -> None:
        """Nothing is left for anybody."""
        self.leases.release_later("a")
        self.assertFalse(self.leases)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_each_adopts_one(self) -> None:
        """Of several, the one left last; the other waits for the next holder."""
        for name, seconds in (("a", 100), ("b", 100)):
            self.leases.add(name)
            self.leases.release_later(name)
            self.clock.advance(seconds)
        self.leases.adopt("b2")
        self.clock.advance(99)
        self.assertEqual(len(self.leases), 2)
        self.clock.advance(1)
        self.assertEqual(self.lengths, [1])
        self.assertTrue(self.leases.remove("b2"))

    def test_attack_reconnecting_for_ever(self) -> None:
        """A page that reloads again and again has one lease, and leaves one."""
        self.leases.add(0)
        for number in range(100):
            self.leases.release_later(number)
            self.leases.adopt(number + 1)
            self.leases.add(number + 1)
            self.assertEqual(len(self.leases), 1)
        self.leases.release_later(100)
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)

    def test_who_holds_adopts_nothing(self) -> None:
        """A lease that was left stays for one that has none."""
        for name in ("a", "b"):
            self.leases.add(name)
        self.leases.release_later("a")
        self.leases.adopt("b")
        self.assertEqual(len(self.leases), 2)
        self.leases.adopt("c")
        self.assertTrue(self.leases.remove("c"))


class TimedReactor(Clock):
    """The real reactor's ports, with time that a test advances."""

    def adoptDatagramPort(self, *arguments: Any) -> Any:
        return reactor.adoptDatagramPort(*arguments)


class ListenerTests(TestCase):
    def setUp(self) -> None:
        self.heard: list[Message] = []
        self.clock = TimedReactor()
        self.listener = Listener(self.clock, self.heard.append, lambda: None)
        self.addCleanup(self.listener.close)
        self.port = free_udp_port()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)

    def send(self, datagram: bytes, host: str = "127.0.0.1") -> None:
        self.socket.sendto(datagram, (host, self.port))

    def assert_free(self, port: int) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.1", port))

    async def test_receives(self) -> None:
        """Messages are heard and counted; what is no OSC is counted alone."""
        self.assertTrue(await self.listener.hold("a", self.port))
        for datagram in (b"junk", b"/a" * 4100, b"", encode(HELLO)):
            self.send(datagram)
        await until(lambda: self.heard)
        receiver = self.listener.receiver
        self.assertEqual((receiver.received, receiver.undecodable), (1, 3))
        self.assertEqual((self.heard, self.listener.port), ([HELLO], self.port))

    async def test_many_at_once(self) -> None:
        """Hundreds of values are kept while the reactor is busy with something else."""
        await self.listener.hold("a", self.port)
        for _ in range(400):
            self.send(encode(HELLO))
        receiver = self.listener.receiver
        await until(lambda: receiver.received == 400)

    async def test_attack_empty_datagrams(self) -> None:
        """One datagram is read per turn, and none where only is sent from."""
        await self.listener.hold("a", self.port)
        receiver = self.listener.receiver
        for _ in range(3):
            self.send(b"")
        # One is read at a time, and at last there is none.
        for undecodable in (1, 2, 3, 3):
            receiver.transport.doRead()
            self.assertEqual(receiver.undecodable, undecodable)
        sender = Sender(reactor)
        sender.send(b"x", self.port)
        self.assertNotIn(sender._port, reactor.getReaders())
        await sender.close()

    async def test_error_of_one_datagram(self) -> None:
        """It is logged, and the next one is received."""
        await self.listener.hold("a", self.port)
        receiver = self.listener.receiver
        receiver.pacing.push = mock.Mock(side_effect=ZeroDivisionError)
        self.send(encode(HELLO))
        await until(lambda: receiver.received)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.send(b"")
        await until(lambda: receiver.undecodable)

    async def test_attack_from_another_machine(self) -> None:
        """Only 127.0.0.1 is bound: other addresses of this machine do not reach it."""
        await self.listener.hold("a", self.port)
        self.send(encode(HELLO), "127.0.0.2")
        await deferLater(reactor, 0.01)
        self.assertEqual(self.heard, [])

    async def test_another_port(self) -> None:
        """It replaces the first, which is free then; who held that holds this."""
        await self.listener.hold("a", self.port)
        first, self.port = self.port, free_udp_port()
        self.assertTrue(await self.listener.hold("b", self.port))
        self.assert_free(first)
        self.assertFalse(await self.listener.release("b"))
        self.send(encode(HELLO))
        await until(lambda: self.heard)
        self.assertTrue(await self.listener.release("a"))

    async def test_busy_port(self) -> None:
        """A taken port is ``unavailable``; what was listened on is kept, and held."""
        await self.listener.hold("a", self.port)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.1", 0))
            error: Any = await self.assertFailure(
                self.listener.hold("b", other.getsockname()[1]), BridgeError
            )
        self.assertEqual(error.code, Code.UNAVAILABLE)
        self.assertFalse(await self.listener.hold("a", self.port))
        self.send(encode(HELLO))
        await until(lambda: self.heard)
        self.assertFalse(await self.listener.release("b"))
        self.assertTrue(await self.listener.release("a"))

    async def test_left_while_it_is_opened(self) -> None:
        """A lease left before it was there is left to the next all the same."""
        await self.listener.hold("a", free_udp_port())
        asked: list[Deferred[Any]] = [
            self.listener.release("a"),
            self.listener.hold("b", self.port),
            self.listener.release_later("b"),
            self.listener.adopt("b2"),
        ]
        await gatherResults(asked)
        self.clock.advance(300)
        self.assertTrue(await self.listener.release("b2"))

    async def test_close(self) -> None:
        """It is closed for all, also for those who left; nothing is waited for."""
        await self.listener.hold("a", self.port)
        await self.listener.hold("b", self.port)
        await self.listener.release_later("a")
        await self.listener.close()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assert_free(self.port)
        self.assertIsNone(self.listener.receiver)
