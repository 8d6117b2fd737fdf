"""Tests for bridge.web.connectionlimits, and for what it does to connections."""

from __future__ import annotations

from typing import Any

from attrs import define, field
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import limits
from bridge.web.connectionlimits import PendingConnections, RequestQuota, Unsent

from .stack import BEARER, JSON, Anything, Stack, write_request
from .test_channel import HEALTH, ChannelCase
from .websocket.test_socket import UPGRADE

MANY = 2000


@define(eq=False)
class Rival:
    """A connection that notes what is done to it."""

    anonymous_answers: int = 0
    dropped: bool = False
    quota: list[str] = field(factory=list)
    name: str = ""

    def drop(self) -> None:
        """Note it."""
        self.dropped = True

    def resume_reading(self) -> None:
        """Note it."""
        self.quota.append(self.name)


class PendingConnectionsTests(SynchronousTestCase):
    """Tests for places."""

    def test_attack_greedy_connections(self) -> None:
        """The greediest goes first, however often it asks; then the oldest."""
        pending = PendingConnections(3)
        silent, greedy, modest = (
            Rival(),
            Rival(anonymous_answers=9),
            Rival(anonymous_answers=1),
        )
        for rival in (silent, greedy, modest, greedy, Rival()):
            pending.join(rival)
        self.assertTrue(greedy.dropped)
        pending.join(Rival())
        self.assertTrue(modest.dropped)
        self.assertFalse(silent.dropped)
        pending.join(Rival())
        self.assertTrue(silent.dropped)
        self.assertEqual(len(pending), 3)


class TurnsTests(SynchronousTestCase):
    """Tests for the requests of one turn."""

    def setUp(self) -> None:
        """Build turns of four requests."""
        self.clock = Clock()
        self.quota = RequestQuota(4, self.clock)

    def test_a_turn_is_used_up(self) -> None:
        """After so many requests none is read until the next turn."""
        for _ in range(4):
            self.assertTrue(self.quota.free)
            self.quota.consume()
        self.assertFalse(self.quota.free)
        self.clock.advance(0)
        self.assertTrue(self.quota.free)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_attack_starving_others(self) -> None:
        """Those who wait are served one request each, in their order."""
        order: list[str] = []
        quota = self.quota

        class Greedy(Rival):
            def resume_reading(self) -> None:
                order.append(self.name)
                quota.consume()
                if len(order) < 12:
                    quota.wait(self)

        for _ in range(4):
            quota.consume()
        for name in "abc":
            quota.wait(Greedy(name=name))
        self.clock.advance(0)
        self.assertEqual("".join(order[:12]), "abc" * 4)

    def test_gone(self) -> None:
        """A connection that has gone gets no turn."""
        rival = Rival()
        self.quota.wait(rival)
        self.quota.leave(rival)
        self.clock.advance(0)
        self.assertEqual(rival.quota, [])


class UnsentTests(SynchronousTestCase):
    """Tests for memory."""

    def test_attack_answers_that_nobody_reads(self) -> None:
        """Over the bound the connection with most is dropped, and counts no more."""
        unsent = Unsent(10)
        small, large, new = Rival(), Rival(), Rival()
        unsent.add(small, 2)
        unsent.add(large, 3)
        unsent.add(large, 3)
        unsent.add(new, 4)
        self.assertEqual([r.dropped for r in (small, large, new)], [False, True, False])
        self.assertEqual(unsent.total, 6)
        unsent.leave(small)
        unsent.leave(small)
        self.assertEqual(unsent.total, 4)


class PipeliningTests(ChannelCase):
    """Tests for clients that ask without waiting for the answers."""

    def setUp(self) -> None:
        """Build a daemon that asks nobody to wait."""
        self.stack = Stack(rate=1e6, burst=1_000_000)

    def answered(self, transport: Any) -> int:
        """Count the answers."""
        count: int = transport.value().count(b"HTTP/1.1 200")
        return count

    def full(self, channel: Any, transport: Any, limit: int) -> None:
        """Let a transport pause its producer as a real one does."""
        written = transport.write

        def write(data: bytes) -> None:
            written(data)
            if len(transport.value()) > limit and not channel._waitingForTransport:
                channel.pauseProducing()

        transport.write = write
        transport.writeSequence = lambda pieces: write(b"".join(pieces))

    def test_attack_pipelining_in_one_turn(self) -> None:
        """A turn answers so many requests, whatever came; the others come later."""
        channel, transport = self.connect()
        channel.dataReceived(HEALTH * MANY)
        self.assertEqual(self.answered(transport), limits.HTTP_REQUESTS_PER_TURN)
        self.assertEqual(transport.producerState, "paused")
        other, its = self.connect()
        other.dataReceived(HEALTH)
        self.assertEqual(self.answered(its), 0)
        self.stack.clock.advance(0)
        self.assertEqual(self.answered(its), 1)
        self.assertEqual(self.answered(transport), MANY)
        self.assertEqual(transport.producerState, "producing")

    def test_attack_upgrades_in_one_turn(self) -> None:
        """An upgrade takes as long as half of a turn, and the next ones wait."""
        upgraded = b"HTTP/1.1 101"
        transports = [self.connect() for _ in range(3)]
        for channel, _ in transports:
            channel.dataReceived(write_request("GET", "/v1/ws", UPGRADE))
        answered = [transport.value()[: len(upgraded)] for _, transport in transports]
        self.assertEqual(answered, [upgraded, upgraded, b""])
        self.stack.clock.advance(0)
        self.assertTrue(transports[2][1].value().startswith(upgraded))

    def test_attack_pipelining_without_reading(self) -> None:
        """What is unsent is bounded, and nothing is read until it is sent."""
        channel, transport = self.connect()
        self.full(channel, transport, 65536)
        channel.dataReceived(HEALTH * MANY)
        self.stack.clock.advance(0)
        self.assertLess(len(transport.value()), 2 * 65536)
        self.assertEqual(transport.producerState, "paused")
        self.assertGreater(self.stack.site.shared.unsent.total, 65536)
        answered = 0
        while len(transport.value()) > 65536:
            answered += self.answered(transport)
            transport.clear()
            channel.resumeProducing()
            self.stack.clock.advance(0)
        self.assertEqual(answered + self.answered(transport), MANY)
        self.assertEqual(self.stack.site.shared.unsent.total, 0)
        self.assertEqual(transport.producerState, "producing")

    def test_attack_many_that_do_not_read(self) -> None:
        """All together hold a bounded memory; who asks for a little is served."""
        transports = []
        for _ in range(120):
            channel, transport = self.connect()
            self.full(channel, transport, 65536)
            channel.dataReceived(HEALTH * MANY)
            self.stack.clock.advance(0)
            transports.append(transport)
        kept = [transport for transport in transports if not transport.aborting]
        unsent = sum(len(transport.value()) for transport in kept)
        self.assertLessEqual(unsent, limits.HTTP_UNSENT_BYTES)
        self.assertGreater(len(kept), 10)
        self.assertEqual(self.stack.ask("GET", "/v1/health").status, 200)

    def test_attack_flooder_loses_its_place(self) -> None:
        """A client that floods loses its place to one that only waits."""
        idle = self.connect()[1]
        channel, flooding = self.connect()
        channel.dataReceived(HEALTH * 3)
        for _ in range(limits.CONNECTIONS_WAITING):
            self.connect()
        self.assertTrue(flooding.aborting)
        channel.dataReceived(HEALTH)
        self.assertEqual(self.answered(flooding), 3)
        self.assertTrue(idle.aborting)

    def test_a_large_answer_to_a_call(self) -> None:
        """Who had the token is not dropped for what it was answered."""
        channel, transport = self.connect()
        self.full(channel, transport, 65536)
        call = write_request("POST", "/v1/kettle/wait", (BEARER, JSON), b"{}")
        channel.dataReceived(call + HEALTH)
        self.stack.kettle.waiting.pop().callback(Anything("x" * limits.MIB * 5))
        self.assertFalse(transport.aborting)
        self.assertEqual(self.answered(transport), 1)
        self.assertEqual(self.stack.site.shared.unsent.total, 0)
        transport.clear()
        channel.resumeProducing()
        self.assertEqual(self.answered(transport), 1)

    def test_attack_answers_to_calls_that_nobody_reads(self) -> None:
        """With the token they take 32 MiB in all; who has most unread is dropped."""
        call = write_request("POST", "/v1/kettle/wait", (BEARER, JSON), b"{}")
        transports = []
        for _ in range(12):
            channel, transport = self.connect()
            self.full(channel, transport, 65536)
            channel.dataReceived(call)
            self.stack.kettle.waiting.pop().callback(Anything("x" * limits.MIB * 7))
            transports.append(transport)
        kept = [transport for transport in transports if not transport.aborting]
        self.assertEqual(len(kept), 4)
        transports[-1].protocol.resumeProducing()
        self.assertLess(self.stack.site.shared.answers.total, 22 * limits.MIB)

    def test_half_closed_while_it_waits(self) -> None:
        """Who sends no more is answered all it sent, in as many turns as it takes."""
        channel, transport = self.connect()
        channel.dataReceived(HEALTH * MANY)
        channel.readConnectionLost()
        self.assertFalse(transport.disconnecting)
        self.stack.clock.advance(0)
        self.assertEqual(self.answered(transport), MANY)
        self.assertTrue(transport.disconnecting)

    def test_half_closed_behind_a_call(self) -> None:
        """Several requests behind a call are all answered."""
        channel, transport = self.connect()
        call = write_request("POST", "/v1/kettle/wait", (BEARER, JSON), b"{}")
        channel.dataReceived(call + HEALTH * 3)
        channel.readConnectionLost()
        self.stack.kettle.waiting.pop().callback(Anything(1))
        self.assertEqual(self.answered(transport), 4)
        self.assertTrue(transport.disconnecting)

    def test_gone_while_it_waits(self) -> None:
        """A connection that ends while it waits leaves nothing behind."""
        self.stack.raw(HEALTH * MANY)
        self.assertEqual(len(self.stack.site.shared.pending), 0)
        self.assertEqual(self.stack.clock.getDelayedCalls(), [])
