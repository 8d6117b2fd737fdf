"""Tests for bridge.web.websocket.sockets, over the whole stack, as a client sees it."""

import json
from typing import Any

from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import limits
from bridge.protocol.errors import CloseReason

from ...rawsocket import CONTINUATION, PING, PONG, TEXT, close_frame, frame
from ..stack import HOST, PAGE, TOKEN, Anything, Stack, read_answer, write_request
from ..test_requestscontract import ALWAYS, UPGRADE


class SocketCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.stack = Stack(dev=False)


class AuthenticatedTests(SocketCase):
    def setUp(self) -> None:
        super().setUp()
        self.page = self.stack.open(PAGE).hello()

    def test_only_pings_are_timed(self) -> None:
        """A page that does nothing wakes the daemon for pings alone."""
        for _ in range(2):
            (call,) = self.stack.clock.getDelayedCalls()
            named: Any = call
            self.assertEqual(named.func.__name__, "_sendAutoPing")
            self.page.request("note", text="x")
            self.stack.advance(3)

    def test_dead_peer_is_gone_within_a_minute(self) -> None:
        """A page that answers no ping is dropped within 60 s."""
        self.page.answers = False
        self.stack.advance(60)
        self.assertEqual(len(self.stack.hub._subscribers), 0)

    def test_compression_bomb(self) -> None:
        """No compression is agreed to, so no small frame is a big one."""
        for more in ("", "; server_max_window_bits=99", "; x; x"):
            offer = ("Sec-WebSocket-Extensions", f"permessage-deflate{more}")
            head = self.stack.raw(write_request("GET", "/v1/ws", (*UPGRADE, offer)))
            self.assertTrue(head.startswith(b"HTTP/1.1 101"), more)
            self.assertNotIn(b"extensions", head.lower())

    def test_shutdown_waits_for_the_closes(self) -> None:
        """Who closes all learns when the last, if any, is closed; nothing follows."""
        self.page.answers = False
        closing = self.stack.sockets.close_all(CloseReason.SHUTDOWN)
        self.stack.hub.push("log", {})
        self.assertEqual(self.page.take(), [])
        self.assertNoResult(closing)
        self.stack.advance(2)
        self.successResultOf(closing)
        self.successResultOf(self.stack.sockets.close_all(CloseReason.SHUTDOWN))

    def test_opened_after_the_closes(self) -> None:
        """A connection from before the shutdown that becomes a socket closes, too."""
        sockets = self.stack.sockets
        sockets.close_all(CloseReason.SHUTDOWN)
        late = self.stack.open(PAGE).hello()
        self.assertEqual(late.closed, (1001, "shutdown"))
        self.stack.advance(2)
        self.successResultOf(sockets.close_all(CloseReason.SHUTDOWN))

    def test_rotation(self) -> None:
        """After a rotation of the token paired sockets close with 1001."""
        silent = self.stack.open()
        self.stack.sockets.close_paired(CloseReason.TOKEN_ROTATED)
        self.stack.sockets.close_all(CloseReason.SHUTDOWN)
        self.assertEqual(self.page.closed, (1001, "token_rotated"))
        self.assertEqual(silent.closed, (1001, "shutdown"))

    def test_too_much_unsent(self) -> None:
        """Over 32 MiB unsent the socket closes with 1013."""
        socket: Any = next(iter(self.stack.sockets._sockets_authenticated))
        socket.transport.producer.pauseProducing()
        for _ in range(5):
            self.page.request("wait")
        for waiting in self.stack.sample.waiting:
            waiting.callback(Anything("x" * 7 * limits.MIB))
        self.assertEqual(self.page.closed, (1013, "slow_reader"))
        self.assertEqual(self.page.take(), [])


class PendingSocketsTests(SocketCase):
    def test_attack_sockets_that_never_send_hello(self) -> None:
        """Only 128 wait; one more takes the place of the oldest that is silent."""
        dropped = (1013, "too_many_sockets")
        sent = (frame(TEXT)[:1], frame(TEXT, b"{", fin=False), frame(PING))
        begun = [self.stack.open().send_frames(one) for one in sent]
        pages = [self.stack.open() for _ in range(125)]
        self.stack.open().hello()
        self.assertEqual(pages[0].closed, dropped)
        self.assertEqual(len(self.stack.sockets._sockets_waiting), 127)
        self.assertIsNone(pages[1].hello().closed)
        for _ in range(125):
            self.stack.open().send_frames(sent[0])
        self.assertEqual({one.closed for one in begun}, {None})
        # A byte does not let old ones stay while a new one has yet to send its hello.
        page = self.stack.open()
        for _ in range(60):
            self.stack.open().send_frames(sent[0])
        self.assertEqual({one.closed for one in begun}, {dropped})
        self.assertIsNone(page.hello().closed)
        self.assertEqual(len(self.stack.sockets._sockets_waiting), 127)
        self.assertEqual(len(self.stack.hub._subscribers), 3)
        self.stack.advance(5)
        self.assertEqual(self.stack.sockets._sockets_waiting, {})

    def test_attack_control_frames_before_hello(self) -> None:
        """Eight are read; the next one closes the socket, and nothing after it is."""
        for opcode in (PING, PONG):
            eight = frame(opcode, b"x") * limits.EXTRA_FRAMES_BEFORE_HELLO
            page = self.stack.open().send_frames(eight)
            self.assertIsNone(page.hello().closed)
            self.assertIsNone(page.send_frames(eight * 2).closed)
            flood = self.stack.open().send_frames(eight, frame(opcode, b"x"))
            self.assertEqual(flood.hello().closed, (1008, "hello_required"))

    def test_attack_endless_hello(self) -> None:
        """A hello may come in nine frames, and not in one more, however short."""
        hello = json.dumps({"type": "hello", "token": TOKEN, "client": "c"}).encode()
        begun = frame(TEXT, hello[:1], fin=False)
        more = frame(CONTINUATION, fin=False) * (limits.EXTRA_FRAMES_BEFORE_HELLO - 1)
        rest = frame(CONTINUATION, hello[1:])
        page = self.stack.open().send_frames(begun + more + rest)
        self.assertEqual([got["type"] for got in page.take()], ["welcome"])
        self.assertIsNone(page.send_frames(begun + more * 9).closed)
        flood = self.stack.open().send_frames(begun + more * 2, rest)
        self.assertEqual(flood.closed, (1008, "hello_required"))

    def test_attack_cheap_requests_for_the_socket(self) -> None:
        """What opens no socket has the rate of all, and costs no page's upgrade."""
        for path, headers, host in (
            ("/v1/ws", (PAGE,), HOST),
            ("/v1/ws", (PAGE, *UPGRADE), "evil.example"),
            ("/v1/health", (PAGE, *UPGRADE), HOST),
        ):
            stack = Stack(dev=False, rate=0.001, burst=10)
            asked = write_request("GET", path, headers, host=host)
            answers = [stack.raw(asked)[:12] for _ in range(11)]
            self.assertEqual(answers[-1], b"HTTP/1.1 429")
            self.assertIsNone(stack.open(PAGE).hello().closed)

    def test_too_many_pages(self) -> None:
        """With 64 pages a hello closes with 1013, an upgrade is 503, until one goes."""
        late = self.stack.open()
        pages = [self.stack.open().hello() for _ in range(limits.SOCKETS_AUTHENTICATED)]
        self.assertEqual({page.closed for page in pages}, {None})
        late.answers = False
        self.assertEqual(late.hello().closed, (1013, "too_many_sockets"))
        self.assertEqual(late.request("note", text="x").take(), [])
        self.assertEqual(self.stack.sample.heard, [])
        self.assertEqual(len(self.stack.hub._subscribers), 64)
        answer = self.stack.ask("GET", "/v1/ws", *UPGRADE)
        self.assertEqual((answer.status, answer.code), (503, "unavailable"))
        pages[0].send_frames(close_frame(1000))
        self.stack.advance(2)
        self.assertIsNone(self.stack.open().hello().closed)


class UpgradeTests(SocketCase):
    def test_headers_of_the_upgrade(self) -> None:
        """The upgrade names no software, and is as closed as any answer."""
        head = self.stack.raw(write_request("GET", "/v1/ws", (*UPGRADE, PAGE)))
        own = {"upgrade", "sec-websocket-accept"}
        names = own | ALWAYS.keys() - {"content-type"}
        self.assertEqual(read_answer(head).headers.keys(), names)

    def test_attack_log_lines(self) -> None:
        """Bad handshakes are counted, one line a second, and are no warnings."""
        events = self.enterContext(capturedLogs())
        bad = write_request("GET", "/v1/ws", UPGRADE[:2])
        for _ in range(20):
            self.assertTrue(self.stack.raw(bad).startswith(b"HTTP/1.1 400"))
        self.stack.clock.advance(1)
        lines = [e for e in events if e["log_level"] >= LogLevel.info]
        self.assertEqual({e["log_level"] for e in lines}, {LogLevel.info})
        self.assertEqual(
            [formatEvent(e) for e in lines],
            [f"WebSocket handshakes refused: {count}" for count in (1, 19)],
        )
