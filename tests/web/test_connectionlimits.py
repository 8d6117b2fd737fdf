"""Tests for what connections share; see bridge.web.channel."""

from typing import Any

from attrs import define
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import limits
from bridge.web.channel import Parts, RequestQuota

from .stack import BEARER, JSON, WAIT, Anything, Connection, Stack, write_request
from .test_channel import HEALTH, ChannelCase
from .test_requestscontract import UPGRADE


@define(eq=False)
class Rival:
    """A connection that notes what is done to it, and then sends a request."""

    quota: RequestQuota | None = None
    dropped: bool = False
    turns: int = 0

    def drop(self) -> None:
        self.dropped = True

    def resume_reading(self) -> None:
        self.turns += 1
        self.quota.consume()


class PartsTests(SynchronousTestCase):
    def test_attack_holding_places(self) -> None:
        """The one that has waited longest goes first; who comes again is the newest."""
        pending = Parts(3)
        rivals: list[Any] = [Rival() for _ in range(4)]
        for rival in (*rivals[:3], rivals[0], rivals[3]):
            pending.add(rival)
        self.assertEqual([r.dropped for r in rivals], [False, True, False, False])
        self.assertEqual(pending.total, 3)

    def test_attack_answers_that_nobody_reads(self) -> None:
        """Over the bound the connection with most is dropped, and counts no more."""
        unread = Parts(8)
        rivals: list[Any] = [Rival() for _ in range(3)]
        small, large, new = rivals
        for rival, size in ((small, 2), (large, 6), (new, 4)):
            self.assertFalse(large.dropped)
            unread.add(rival, size)
        self.assertEqual([r.dropped for r in (small, large, new)], [False, True, False])
        self.assertEqual(unread.total, 6)
        unread.leave(small)
        unread.leave(small)
        self.assertEqual(unread.total, 4)


class RequestQuotaTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.quota = RequestQuota(self.clock, 4)

    def test_attack_more_than_a_turn_waits(self) -> None:
        """Each turn answers so many of those that wait, in their order."""
        self.quota.consume(4)
        rivals: list[Any] = [Rival(self.quota) for _ in range(9)]
        for rival in rivals:
            self.quota.wait(rival)
        for answered in (4, 8, 9):
            # The clock itself would take the next turn at the same time.
            self.clock.calls.pop(0).func()
            turns = [1] * answered + [0] * (9 - answered)
            self.assertEqual([rival.turns for rival in rivals], turns)


class TurnsTests(ChannelCase):
    def setUp(self) -> None:
        self.stack = Stack(rate=1e6, burst=1_000_000)

    def turn(self, request: bytes, answer: bytes, count: int, each: int) -> None:
        """Expect that a turn answers ``each`` of so many requests, then the rest."""
        ends = [self.connect() for _ in range(count)]
        for channel, _ in ends:
            channel.dataReceived(request)
        answered = [to.value().startswith(answer) for _, to in ends]
        self.assertEqual(answered, [True] * each + [False] * (count - each))
        self.assertEqual(ends[-1][1].producerState, "paused")
        self.stack.clock.advance(0)
        self.assertTrue(all(to.value().startswith(answer) for _, to in ends))

    def test_attack_many_requests_in_one_turn(self) -> None:
        """A turn answers so many requests; the others come later, in their order."""
        most = limits.HTTP_REQUESTS_PER_TURN
        self.turn(HEALTH, b"HTTP/1.1 200", most + 2, most)
        self.turn(b"no HTTP\r\n\r\n", b"HTTP/1.1 400", most + 2, most)

    def test_attack_upgrades_in_one_turn(self) -> None:
        """An upgrade takes as long as half of a turn, and the next ones wait."""
        self.turn(write_request("GET", "/v1/ws", UPGRADE), b"HTTP/1.1 101", 3, 2)

    def wait_for_a_turn(self, request: bytes) -> tuple[Any, Connection]:
        """Send a request when the turn is used up."""
        self.stack.site.quota.consume(limits.HTTP_REQUESTS_PER_TURN)
        channel, transport = self.connect()
        channel.dataReceived(request[:9])
        channel.dataReceived(request[9:])
        return channel, transport

    def test_bodies_take_turns(self) -> None:
        """A body that comes when the turn is used up is read from the next one on."""
        channel, transport = self.connect()
        call = write_request("POST", "/v1/sample/echo", (BEARER, JSON), b"{}")
        channel.dataReceived(call[:-2])
        self.stack.site.quota.consume(limits.HTTP_REQUESTS_PER_TURN)
        channel.dataReceived(call[-2:-1])
        self.assertEqual(transport.producerState, "paused")
        self.stack.clock.advance(0)
        self.assertEqual(transport.producerState, "producing")
        channel.dataReceived(call[-1:])
        self.assertTrue(transport.value().startswith(b"HTTP/1.1 200"))

    def test_half_closed_while_it_waits(self) -> None:
        """Who sends no more is answered, when it has sent a whole request."""
        for request, answered in ((HEALTH, 1), (HEALTH[:-1], 0)):
            channel, transport = self.wait_for_a_turn(request)
            channel.readConnectionLost()
            self.assertFalse(transport.disconnecting)
            self.stack.clock.advance(0)
            self.assertEqual(transport.value().count(b"HTTP/1.1 200"), answered)
            self.assertTrue(transport.disconnecting)

    def test_gone_while_it_waits(self) -> None:
        """A connection that ends while it waits leaves nothing behind."""
        channel, transport = self.wait_for_a_turn(HEALTH)
        channel.connectionLost(Failure(ConnectionDone()))
        self.stack.clock.advance(0)
        self.assertEqual(transport.value(), b"")
        self.assertEqual(self.stack.site.pending.total, 0)
        self.assertEqual(self.stack.clock.getDelayedCalls(), [])


class UnreadTests(ChannelCase):
    def call(self, answer: int) -> tuple[Any, Connection]:
        """Call, with so long an answer that the transport is full; it is not read."""
        channel, transport = self.connect()
        transport.unread = True
        channel.dataReceived(WAIT)
        channel.pauseProducing()
        self.stack.sample.waiting.pop().callback(Anything("x" * answer))
        return channel, transport

    def test_attack_answers_to_calls_that_nobody_reads(self) -> None:
        """With the token they take 32 MiB in all; who has most unread is dropped."""
        ends = [self.call(limits.MIB * 7) for _ in range(12)]
        kept = [channel for channel, transport in ends if not transport.aborting]
        self.assertEqual(len(kept), 4)
        answers = self.stack.site.answers
        kept[0].writeConnectionLost()
        self.assertLess(answers.total, 22 * limits.MIB)
        for channel in kept[1:]:
            channel.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(answers.total, 0)

    def test_who_reads_a_large_answer_is_not_dropped(self) -> None:
        """A client that was called for has a place until it has read the answer."""
        _, transport = self.call(limits.MIB)
        for _ in range(500):
            self.connect()
        self.assertFalse(transport.aborting)

    def test_attack_refusals_that_are_not_read(self) -> None:
        """A client that does not read what it got without the token keeps no place."""
        for raw in (HEALTH, write_request("POST", "/v1/sample/wait", (JSON,), b"")):
            channel, transport = self.connect()
            transport.unread = True
            channel.dataReceived(raw)
            self.assertIn(b"HTTP/1.1 ", transport.value())
            for _ in range(500):
                self.connect()
            self.assertTrue(transport.aborting)
