"""Tests for bridge.osc.ports, over real UDP."""

import resource
import socket
from typing import Any
from unittest import mock

from twisted.internet import reactor
from twisted.internet.task import Clock, deferLater
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.osc.packets import Argument, Kind, Message, encode
from bridge.osc.ports import Listener, Sender
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


class TimedReactor(Clock):
    """The real reactor's ports, with time that a test advances."""

    def adoptDatagramPort(self, *arguments: Any) -> Any:
        return reactor.adoptDatagramPort(*arguments)


def assert_free(port: int) -> None:
    """Bind a port, which fails while anything listens on it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", port))


class LeasesTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = TimedReactor()
        self.lengths: list[int] = []
        self.listener = Listener(
            self.clock, lambda _: None, lambda: self.lengths.append(self.leases())
        )
        self.addCleanup(self.listener.close)
        self.port = free_udp_port()

    def leases(self) -> int:
        return len(self.listener.holders) + len(self.listener.left)

    def hold(self, *holders: object) -> None:
        for holder in holders:
            self.listener.hold(holder, self.port)

    def test_leaving_without_a_hold(self) -> None:
        """Nothing is left for anybody."""
        self.listener.release_later("a")
        self.assertFalse(self.listener.is_leased)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_each_adopts_one(self) -> None:
        """Of several, the one left last; the other waits for the next holder."""
        for name, seconds in (("a", 100), ("b", 100)):
            self.hold(name)
            self.listener.release_later(name)
            self.clock.advance(seconds)
        self.listener.adopt("b2")
        self.clock.advance(99)
        self.assertEqual(self.leases(), 2)
        del self.lengths[:]
        self.clock.advance(1)
        self.assertEqual(self.lengths, [1])
        self.assertTrue(self.listener.release("b2"))

    def test_attack_reconnecting_for_ever(self) -> None:
        """A page that reloads again and again has one lease, and leaves one."""
        self.hold(0)
        for number in range(100):
            self.listener.release_later(number)
            self.listener.adopt(number + 1)
            self.hold(number + 1)
            self.assertEqual(self.leases(), 1)
        self.listener.release_later(100)
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)

    def test_who_holds_adopts_nothing(self) -> None:
        """A lease that was left stays for one that has none."""
        self.hold("a", "b")
        self.listener.release_later("a")
        self.listener.adopt("b")
        self.assertEqual(self.leases(), 2)
        self.listener.adopt("c")
        self.listener.release("c")
        self.assertEqual(self.leases(), 1)

    def test_left_by_all(self) -> None:
        """The port is closed, and free, when the last lease has expired."""
        self.hold("a")
        self.listener.release_later("a")
        self.clock.advance(299)
        self.assertEqual(self.listener.port, self.port)
        self.clock.advance(1)
        self.assertIsNone(self.listener.port)
        assert_free(self.port)


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

    async def test_receives(self) -> None:
        """Messages are heard and counted; what is no OSC is counted alone."""
        self.assertTrue(self.listener.hold("a", self.port))
        for datagram in (b"junk", b"/a" * 4100, b"", encode(HELLO)):
            self.send(datagram)
        await until(lambda: self.heard)
        receiver = self.listener.receiver
        self.assertEqual((receiver.received, receiver.undecodable), (1, 3))
        self.assertEqual((self.heard, self.listener.port), ([HELLO], self.port))

    async def test_many_at_once(self) -> None:
        """Hundreds of values are kept while the reactor is busy with something else."""
        self.listener.hold("a", self.port)
        for _ in range(400):
            self.send(encode(HELLO))
        receiver = self.listener.receiver
        await until(lambda: receiver.received == 400)

    async def test_attack_empty_datagrams(self) -> None:
        """One datagram is read per turn, and none where only is sent from."""
        self.listener.hold("a", self.port)
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
        sender.close()

    async def test_error_of_one_datagram(self) -> None:
        """It is logged, and the next one is received."""
        self.listener.hold("a", self.port)
        receiver = self.listener.receiver
        receiver.pacing.push = mock.Mock(side_effect=ZeroDivisionError)
        self.send(encode(HELLO))
        await until(lambda: receiver.received)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.send(b"")
        await until(lambda: receiver.undecodable)

    async def test_attack_from_another_machine(self) -> None:
        """Only 127.0.0.1 is bound: other addresses of this machine do not reach it."""
        self.listener.hold("a", self.port)
        self.send(encode(HELLO), "127.0.0.2")
        await deferLater(reactor, 0.01)
        self.assertEqual(self.heard, [])

    async def test_another_port(self) -> None:
        """It replaces the first, which is free then; who held that holds this."""
        self.listener.hold("a", self.port)
        first, self.port = self.port, free_udp_port()
        self.assertTrue(self.listener.hold("b", self.port))
        assert_free(first)
        self.assertFalse(self.listener.release("b"))
        self.send(encode(HELLO))
        await until(lambda: self.heard)
        self.assertTrue(self.listener.release("a"))

    async def test_busy_port(self) -> None:
        """A taken port is ``unavailable``; what was listened on is kept, and held."""
        self.listener.hold("a", self.port)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.1", 0))
            taken = other.getsockname()[1]
            error = self.assertRaises(BridgeError, self.listener.hold, "b", taken)
        self.assertEqual(error.code, Code.UNAVAILABLE)
        self.assertFalse(self.listener.hold("a", self.port))
        self.send(encode(HELLO))
        await until(lambda: self.heard)
        self.assertFalse(self.listener.release("b"))
        self.assertTrue(self.listener.release("a"))

    def test_close(self) -> None:
        """It is closed for all, also for those who left; nothing is waited for."""
        self.listener.hold("a", self.port)
        self.listener.hold("b", self.port)
        self.listener.release_later("a")
        self.listener.close()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        assert_free(self.port)
        self.assertIsNone(self.listener.receiver)
