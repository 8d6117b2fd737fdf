"""Tests for framing; what a peer sees is in tests/web/test_framescontract.py."""

import sys

from twisted.internet.interfaces import ITCPTransport
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import directlyProvides

from bridge.protocol.errors import CloseReason
from bridge.protocol.limits import CLOSE_SECONDS, FRAMES_PER_TURN, SLOW_CLOSE_SECONDS

from ...rawsocket import BINARY, PING, TEXT, close_frame, frame, text
from ..stack import TOKEN, Stack, write_request
from ..test_requestscontract import UPGRADE

HELLO = text({"type": "hello", "token": TOKEN, "client": "c"})
REQUEST = text({"type": "request", "id": "7", "service": "x", "method": "y"})


def echo(request_id: str, length: int) -> bytes:
    """Write a call whose answer is about so long."""
    params = {"value": "x" * length}
    called = {"service": "sample", "method": "echo", "params": params}
    return text({"type": "request", "id": request_id, **called})


class RawCase(SynchronousTestCase):
    """Has a connection that takes any bytes."""

    def setUp(self) -> None:
        self.stack = Stack()
        _, self.transport = self.stack.connect()
        self.receive(write_request("GET", "/v1/ws", UPGRADE))
        self.receive(HELLO)
        self.transport.clear()

    def receive(self, received: bytes) -> None:
        self.transport.protocol.dataReceived(received)


class TurnsTests(RawCase):
    def test_attack_thousands_of_frames_in_a_packet(self) -> None:
        """Of many frames so many are answered, then others have their turn."""
        self.receive(REQUEST * 3 * FRAMES_PER_TURN)
        answered = self.transport.value().count(b'"id":"7"')
        self.assertEqual(answered, FRAMES_PER_TURN)
        self.assertEqual(self.transport.producerState, "paused")
        self.stack.clock.advance(0)
        answered = self.transport.value().count(b'"id":"7"')
        self.assertEqual(answered, 3 * FRAMES_PER_TURN)
        self.assertEqual(self.transport.producerState, "producing")

    def test_more_comes_meanwhile(self) -> None:
        """What comes while others have their turn waits behind."""
        self.receive(REQUEST * (FRAMES_PER_TURN + 1))
        self.receive(frame(PING, b"last"))
        self.assertNotIn(b"last", self.transport.value())
        self.stack.clock.advance(0)
        self.assertTrue(self.transport.value().endswith(b"last"))

    def test_long_answer_after_a_short_one(self) -> None:
        """Answers of one turn leave in their order, however long they are."""
        self.receive(echo("1", 1) + echo("2", 2 * 65_536) + echo("3", 1))
        sent = self.transport.value()
        places = [sent.find(b'"id":"%d"' % number) for number in (1, 2, 3)]
        self.assertEqual(places, sorted(places))
        self.assertNotIn(-1, places)

    def test_push_between_turns(self) -> None:
        """What is pushed when nothing has come is written at once."""
        self.receive(REQUEST)
        self.transport.clear()
        self.stack.hub.push("plugins", {})
        self.assertIn(b'"event":"plugins"', self.transport.value())

    def test_gone_meanwhile(self) -> None:
        """A peer that goes while it waits for its turn is not read any more."""
        self.receive(REQUEST * 2 * FRAMES_PER_TURN)
        self.transport.protocol.connectionLost(Failure(connectionDone.value))
        self.transport.clear()
        self.stack.clock.advance(1)
        self.assertEqual(self.transport.value(), b"")


class PingTests(RawCase):
    def test_attack_pings_of_a_peer_that_does_not_read(self) -> None:
        """Answers to pings do not pile up: while the peer does not read, none is."""
        (socket,) = self.stack.sockets._sockets_authenticated
        socket.conversation.send_queue.pauseProducing()
        self.receive(frame(PING, b"x" * 125) * 50)
        self.assertEqual(self.transport.value(), b"")
        socket.conversation.send_queue.resumeProducing()
        self.receive(frame(PING, b"now"))
        self.assertTrue(self.transport.value().endswith(b"now"))

    def test_attack_endless_short_fragments(self) -> None:
        """A message of ever more short fragments takes as much memory as its bytes."""
        self.receive(frame(TEXT, b"[", fin=False))
        (socket,) = self.stack.sockets._sockets_authenticated
        for payload, most in ((b"", 64), (b" ", 2048)):
            for _ in range(20):
                self.receive(frame(0, payload, fin=False) * (FRAMES_PER_TURN - 1))
            kept = sys.getsizeof(socket._message) + sys.getsizeof(socket.message_data)
            self.assertLess(kept + len(socket.frame_data or ()), most + 128)
        self.assertEqual(len(socket._message), 1 + 20 * (FRAMES_PER_TURN - 1))


class EndTests(RawCase):
    def test_attack_peer_that_does_not_end(self) -> None:
        """After half a character at the end, or a wrong close frame, it is cut off."""
        for sent, answered in (
            (frame(TEXT, b"\xc3"), b"\x03\xefnot_utf8"),
            (close_frame(999), b"\x03\xeaprotocol_error"),
        ):
            self.setUp()
            self.receive(sent)
            self.assertEqual(self.transport.value()[2:], answered)
            self.assertFalse(self.transport.disconnecting)
            self.stack.clock.advance(CLOSE_SECONDS)
            self.assertTrue(self.transport.aborting)

    def test_attack_peer_that_never_confirms_the_close(self) -> None:
        """It is cut off; who has yet to read much before it, four seconds later."""
        for reason, seconds in (
            (CloseReason.SHUTDOWN, CLOSE_SECONDS),
            (CloseReason.SLOW_READER, SLOW_CLOSE_SECONDS),
            (None, CLOSE_SECONDS),  # it closes, and does not take what is left for it
        ):
            self.setUp()
            if reason:
                self.stack.sockets.close_all(reason)
            else:
                self.receive(close_frame(1000))
            self.assertEqual(self.transport.disconnecting, reason is None)
            self.stack.clock.advance(seconds - 0.1)
            self.assertFalse(self.transport.aborting)
            self.stack.clock.advance(0.1)
            self.assertTrue(self.transport.aborting)

    def test_nothing_is_sent_after_a_close_frame(self) -> None:
        """Over TCP the peer sees the end at once, and may still send what it sends."""
        directlyProvides(self.transport, ITCPTransport)
        self.receive(frame(BINARY))
        self.assertTrue(self.transport.half_closed)
        self.assertFalse(self.transport.disconnecting)
