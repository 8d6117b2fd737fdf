"""Tests for bridge.web.channel: framing, early refusals, deadlines, limits."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import limits
from bridge.protocol.errors import Code
from bridge.web.request import phrase

from ..strategies import SECRET
from .stack import (
    BEARER,
    JSON,
    PAGE,
    WAIT,
    Anything,
    Connection,
    Stack,
    cut_up,
    read_answer,
    write_request,
)
from .test_request import RequestCase
from .test_requestscontract import ALWAYS, LENGTH

CALL = "/v1/sample/note"
HEALTH = write_request("GET", "/v1/health", ())


class ChannelCase(RequestCase):
    def connect(self) -> tuple[Any, Connection]:
        return self.stack.connect()

    def assertAnswered(self, transport: Any, status: int, code: str) -> None:
        """Expect one refusal, after which the connection ends."""
        answer = read_answer(transport.value())
        self.assertRefused(answer, status, code)
        self.assertEqual(answer.headers["connection"], "close")
        self.assertEqual(transport.value().count(b"HTTP/1."), 1)
        self.assertTrue(transport.half_closed)


class EarlyTests(ChannelCase):
    def early(self, *headers: tuple[str, str]) -> Any:
        """Send the head of a call with a body that does not come."""
        channel, transport = self.connect()
        channel.dataReceived(write_request("POST", CALL, (*headers, LENGTH)))
        return channel, transport

    def test_attack_endless_body_after_a_refusal(self) -> None:
        """The rest is read only so far."""
        channel, transport = self.early(BEARER)
        for _ in range(limits.LINGER_BYTES // limits.MIB):
            channel.dataReceived(b"x" * limits.MIB)
        self.assertFalse(transport.aborting)
        channel.dataReceived(b"x")
        self.assertTrue(transport.aborting)

    def test_leave_to_send(self) -> None:
        """``Expect: 100-continue`` is answered when the body will be read."""
        _, transport = self.early(BEARER, JSON, ("Expect", "100-continue"))
        self.assertEqual(transport.value(), b"HTTP/1.1 100 Continue\r\n\r\n")


def split(received: bytes) -> list[Any]:
    """Read several responses."""
    parts = received.split(b"HTTP/1.1 ")[1:]
    return [read_answer(b"HTTP/1.1 " + part) for part in parts]


class FramingTests(ChannelCase):
    def test_attack_pipelining(self) -> None:
        """One request is answered; what comes with it, or after it, is thrown away."""
        call = write_request("POST", CALL, (BEARER, JSON), b'{"text":"x"}')
        for first, status in ((HEALTH, 200), (call, 200), (HEALTH[1:], 405)):
            for sent in ([first + call * 9], [first, call, call]):
                self.stack.sample.heard.clear()
                channel, transport = self.connect()
                for piece in sent:
                    channel.dataReceived(piece)
                answer = read_answer(transport.value())
                self.assertEqual(answer.status, status)
                self.assertEqual(answer.headers["connection"], "close")
                self.assertEqual(transport.value().count(b"HTTP/1.1 "), 1)
                self.assertEqual(self.stack.sample.heard, ["x"] * (first is call))
                self.assertTrue(transport.half_closed)
                if len(sent) > 1:
                    self.assertTrue(transport.aborting)

    def test_attack_endless_bytes_behind_a_call(self) -> None:
        """What comes while a call runs is not read; it is answered, then cut off."""
        channel, transport = self.connect()
        transport.unread = True
        channel.dataReceived(WAIT)
        channel.dataReceived(b"x")
        self.assertEqual(transport.producerState, "paused")
        self.stack.sample.waiting.pop().callback(Anything(1))
        self.assertEqual(read_answer(transport.value()).status, 200)
        self.assertEqual(transport.producerState, "paused")
        self.assertFalse(transport.aborting)
        channel.writeConnectionLost()
        self.assertTrue(transport.aborting)

    def test_half_closed_while_lingering(self) -> None:
        """A client that has ended, too, is waited for no longer than it sends."""
        channel, transport = self.connect()
        channel.dataReceived(b"no http\r\n\r\n")
        self.assertTrue(transport.half_closed)
        channel.dataReceived(b"more of it")
        self.assertFalse(transport.aborting)
        self.assertFalse(transport.disconnecting)
        channel.readConnectionLost()
        self.assertTrue(transport.disconnecting)

    @given(st.binary(max_size=200), st.booleans())
    def test_any_bytes(self, raw: bytes, ended: bool) -> None:
        """Whatever comes, every answer is one of ours, and none holds what was sent."""
        sent = raw + SECRET.encode() + (b"\r\n\r\n" if ended else b"")
        received = self.stack.raw(sent)
        for answer in split(received):
            for name, value in ALWAYS.items():
                self.assertEqual(answer.headers[name], value)
        self.assertNotIn(SECRET.encode(), received)
        self.assertEqual(self.stack.site.pending.total, 0)
        self.assertEqual(self.stack.clock.getDelayedCalls(), [])

    @given(st.lists(st.integers(1, 60), max_size=8))
    def test_any_split(self, cuts: list[int]) -> None:
        """However a request is cut into segments, it is read the same."""
        raw = write_request("POST", "/v1/sample/echo", (BEARER, JSON), b'{"value":1}')
        answer = read_answer(self.stack.raw(*cut_up(raw, cuts)))
        self.assertEqual(answer.json, {"value": 1})


class DeadlineTests(ChannelCase):
    def setUp(self) -> None:
        self.stack = Stack(clock=MemoryReactorClock())

    def test_attack_slow_head(self) -> None:
        """A head that dribbles is ended: bytes do not prolong its time."""
        channel, transport = self.connect()
        for n in range(int(limits.HEAD_SECONDS)):
            channel.dataReceived(HEALTH[n : n + 1])
            self.stack.clock.advance(1)
        self.assertAnswered(transport, 408, "timed_out")
        self.stack.clock.advance(limits.LINGER_SECONDS)
        self.assertTrue(transport.disconnecting)

    def test_attack_slow_body(self) -> None:
        """So is a body, even of one who knows the token."""
        channel, transport = self.connect()
        length = ("Content-Length", "1000")
        channel.dataReceived(write_request("POST", CALL, (BEARER, JSON, length)))
        for _ in range(int(limits.BODY_SECONDS)):
            self.assertEqual(transport.value(), b"")
            channel.dataReceived(b" ")
            self.stack.clock.advance(1)
        self.assertAnswered(transport, 408, "timed_out")
        self.assertEqual(self.stack.sample.heard, [])

    def test_attack_silence(self) -> None:
        """A client that sends nothing is closed without an answer."""
        _, transport = self.connect()
        self.stack.clock.advance(limits.HEAD_SECONDS)
        self.assertEqual(transport.value(), b"")
        self.assertTrue(transport.half_closed)

    def test_attack_never_reading(self) -> None:
        """Who does not read to the end is cut off some time after it."""
        channel, transport = self.connect()
        transport.unread = True
        channel.dataReceived(HEALTH)
        self.stack.clock.advance(limits.BODY_SECONDS - 1)
        self.assertFalse(transport.aborting)
        self.stack.clock.advance(1)
        self.assertTrue(transport.aborting)

    def test_attack_never_closing(self) -> None:
        """Who has read everything, or was refused, has less time to close."""
        for asked in (HEALTH, write_request("POST", CALL, (BEARER, LENGTH))):
            channel, transport = self.connect()
            channel.dataReceived(asked)
            self.stack.clock.advance(limits.LINGER_SECONDS)
            self.assertTrue(transport.disconnecting)


class IdleConnectionsTests(ChannelCase):
    def test_attack_idle_connections(self) -> None:
        """Those who only hold connections open drop each other; who asks is served."""
        idle = [self.connect()[1] for _ in range(500)]
        self.assertEqual(self.stack.site.pending.total, limits.CONNECTIONS_WAITING)
        kept = limits.CONNECTIONS_WAITING
        self.assertTrue(all(transport.aborting for transport in idle[:-kept]))
        self.assertFalse(any(transport.aborting for transport in idle[-kept:]))
        self.assertEqual(self.stack.ask("GET", "/v1/health").status, 200)

    def test_calls_and_sockets_are_not_dropped(self) -> None:
        """Who has been let in stays: a body, a call, a socket."""
        page = self.stack.open(PAGE).hello()
        reading, reads = self.connect()
        reading.dataReceived(WAIT[:-1])
        calling, calls = self.connect()
        calling.dataReceived(WAIT)
        for _ in range(500):
            self.connect()
        page.request("echo", value=1)
        self.assertEqual(page.take()[0]["result"], {"value": 1})
        reading.dataReceived(WAIT[-1:])
        for waiting in self.stack.sample.waiting:
            waiting.callback(Anything(1))
        for transport in (reads, calls):
            self.assertEqual(read_answer(transport.value()).status, 200)


class PhraseTests(SynchronousTestCase):
    def test_every_status(self) -> None:
        """Every status a refusal may have is sent with its own reason phrase."""
        phrases = {code.status: phrase(code.status) for code in Code}
        self.assertEqual(phrases[429], b"Too Many Requests")
        self.assertEqual(len(set(phrases.values())), len(phrases))
        self.assertNotIn(b"", phrases.values())
