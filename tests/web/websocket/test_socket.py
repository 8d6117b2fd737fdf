"""Tests for bridge.web.websocket.socket, over the whole stack, as a client sees it."""

from __future__ import annotations

from typing import Any

from twisted.logger import ILogObserver, LogLevel, formatEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import provider

from bridge.protocol.errors import CloseReason
from bridge.protocol.limits import (
    CONTROLS_BEFORE_HELLO,
    FRAME_BYTES,
    HELLO_FRAME_BYTES,
    MIB,
    SOCKETS_AUTHENTICATED,
    SOCKETS_AWAITING_HELLO,
)
from bridge.protocol.strictjson import dumps

from ...strategies import SECRET
from ..stack import (
    EVIL,
    HOST,
    PAGE,
    TOKEN,
    Anything,
    Header,
    Stack,
    read_answer,
    write_request,
)

UPGRADE: tuple[Header, ...] = (
    ("Upgrade", "websocket"),
    ("Connection", "Upgrade"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("Sec-WebSocket-Version", "13"),
)
HELLO_REQUIRED = (1008, "hello_required")


class SocketCase(SynchronousTestCase):
    """Has a stack."""

    def setUp(self) -> None:
        """Build it, as a daemon without ``--dev``."""
        self.stack = Stack(dev=False)


class HelloTests(SocketCase):
    """Tests for what may come first."""

    def test_welcome(self) -> None:
        """A right hello is answered with a welcome, and then calls are."""
        page = self.stack.open(PAGE)
        page.send({"type": "hello", "token": TOKEN, "client": "test/1.0.0"})
        (welcome,) = page.take()
        self.assertEqual(welcome["type"], "welcome")
        self.assertEqual(list(welcome["services"]), ["kettle"])
        page.request("echo", value="x")
        self.assertEqual(page.take()[0]["result"], {"value": "x"})
        self.assertIsNone(page.closed)

    def test_anything_else_first(self) -> None:
        """Any other first frame closes with 1008 ``hello_required``."""
        hello = {"type": "hello", "token": TOKEN, "client": "c"}
        for frame in (
            b"",
            b"hello",
            b"{}",
            b"[]",
            b"\x00",
            {"type": "hello", "token": TOKEN},
            {**hello, "extra": 1},
            {**hello, "type": "Hello"},
            {**hello, "token": None},
            {"type": "request", "id": "1", "service": "kettle", "method": "echo"},
            {"type": "logs", "records": []},
            {"type": "logs"},
        ):
            page = self.stack.open().send(frame)
            self.assertEqual(page.closed, HELLO_REQUIRED, frame)
            self.assertEqual(page.take(), [])
        self.assertEqual(self.stack.logs.got, [])

    def test_brute_force_runs_dry(self) -> None:
        """Each wrong token costs two trusted tokens: the upgrade's and its own."""
        stack = Stack(rate=0.001, burst=10)
        for _ in range(5):
            stack.open().hello("x" * 43)
        answer = stack.ask("GET", "/v1/ws", *UPGRADE)
        self.assertEqual((answer.status, answer.code), (429, "rate_limited"))

    def test_ping_first(self) -> None:
        """A ping is no first frame: it is answered, and hello may still come."""
        page, pongs = self.stack.open(), list[bytes]()
        page.client.onPong = pongs.append
        page.client.sendPing(b"x")
        page.send(dumps({"type": "hello", "token": TOKEN, "client": "c"}))
        self.assertEqual(page.take()[0]["type"], "welcome")
        self.assertEqual(pongs, [b"x"])

    def test_too_big_first(self) -> None:
        """A hello over 4 KiB is none; one just under it is."""
        frame = {"type": "hello", "token": TOKEN, "client": ""}
        spare = HELLO_FRAME_BYTES - len(dumps(frame))
        fits = self.stack.open().send(dumps({**frame, "client": "c" * spare}))
        self.assertEqual(fits.take()[0]["type"], "welcome")
        over = self.stack.open().send(dumps({**frame, "client": "c" * (spare + 1)}))
        self.assertEqual(over.closed, HELLO_REQUIRED)

    def test_nothing_after_a_close(self) -> None:
        """A right hello right behind a wrong one changes nothing."""
        page = self.stack.open()
        page.client.sendMessage(b"x")
        page.client.sendMessage(dumps({"type": "hello", "token": TOKEN, "client": "c"}))
        self.assertEqual(page.closed, HELLO_REQUIRED)
        self.assertEqual(page.take(), [])
        self.assertEqual(len(self.stack.hub), 0)


class AuthenticatedTests(SocketCase):
    """Tests for what may come after welcome."""

    def setUp(self) -> None:
        """Send hello."""
        super().setUp()
        self.page = self.stack.open(PAGE).hello()

    def test_binary(self) -> None:
        """A binary frame closes with 1003."""
        self.page.send(b"{}", binary=True)
        self.assertEqual(self.page.closed, (1003, "text_frames_only"))

    def test_not_utf8(self) -> None:
        """Invalid UTF-8 closes with 1007."""
        self.page.send(b'{"a":"\xff"}')
        self.assertEqual(self.page.closed, (1007, "not_utf8"))

    def test_too_big(self) -> None:
        """A frame of 8 MiB is read; one byte more closes with 1009."""
        head = b'{"type":"logs","records":"'
        fill = b"x" * (FRAME_BYTES - len(head) - 2)
        self.page.send(head + fill + b'"}')
        self.assertIsNone(self.page.closed)
        self.assertEqual(len(self.stack.logs.got), 1)
        self.page.send(head + fill + b'x"}')
        self.assertEqual(self.page.closed, (1009, "frame_too_large"))

    def test_too_big_in_pieces(self) -> None:
        """Pieces of one message count together."""
        self.page.client.sendFrame(opcode=1, payload=b"x" * MIB, fin=False)
        for _ in range(8):
            self.page.client.sendFrame(opcode=0, payload=b"x" * MIB, fin=False)
        self.assertEqual(self.page.closed, (1009, "frame_too_large"))

    def test_unmasked_or_unknown(self) -> None:
        """What breaks RFC 6455 closes with 1002, in our words."""
        self.page.client.sendFrame(opcode=3, payload=b"x")
        self.assertEqual(self.page.closed, (1002, "protocol_error"))

    def test_big_result(self) -> None:
        """A result over 8 MiB can be sent, though no such frame is received."""
        big = "y" * (FRAME_BYTES + MIB)
        self.page.request("wait")
        self.stack.kettle.waiting[0].callback(Anything(big))
        (answer,) = self.page.take()
        self.assertEqual(len(answer["result"]["value"]), len(big))
        self.assertIsNone(self.page.closed)

    def test_only_pings_are_timed(self) -> None:
        """A page that does nothing wakes the daemon for pings alone."""
        for _ in range(2):
            (call,) = self.stack.clock.getDelayedCalls()
            named: Any = call
            self.assertEqual(named.func.__name__, "_sendAutoPing")
            self.page.request("note", text="x")
            self.stack.advance(3)

    def test_ping(self) -> None:
        """After welcome a ping is answered."""
        pongs: list[bytes] = []
        self.page.client.onPong = pongs.append
        self.page.client.sendPing(b"x")
        self.stack.flush()
        self.assertEqual(pongs, [b"x"])

    def test_dead_peer_is_gone_within_a_minute(self) -> None:
        """A page that answers no ping is dropped within 60 s."""
        self.page.client.onPing = lambda payload: None
        self.stack.advance(60)
        self.assertEqual(len(self.stack.hub), 0)

    def test_living_peer_stays(self) -> None:
        """A silent page that answers pings stays."""
        self.stack.advance(300)
        self.assertEqual(len(self.stack.hub), 1)
        self.assertIsNone(self.page.closed)

    def test_compression_bomb(self) -> None:
        """No compression is agreed to, so no small frame is a big one."""
        offer = ("Sec-WebSocket-Extensions", "permessage-deflate")
        head = self.stack.raw(write_request("GET", "/v1/ws", (*UPGRADE, offer)))
        self.assertTrue(head.startswith(b"HTTP/1.1 101"))
        self.assertNotIn(b"extensions", head.lower())

    def test_page_goes(self) -> None:
        """A page that closes is forgotten: its place is free, no timer is left."""
        self.page.client.sendClose(1000, "bye")
        self.stack.advance(2)
        self.assertEqual(len(self.stack.hub), 0)
        self.assertEqual(self.stack.sockets._sockets_authenticated, set())

    def test_shutdown(self) -> None:
        """At shutdown every socket, greeted or not, closes with 1001."""
        silent = self.stack.open()
        self.stack.sockets.close_all(CloseReason.SHUTDOWN)
        for page in (self.page, silent):
            self.assertEqual(page.closed, (1001, "shutdown"))

    def test_shutdown_waits_for_the_closes(self) -> None:
        """Who closes all learns when the last is closed, at once with none open."""
        closing = self.stack.sockets.close_all(CloseReason.SHUTDOWN)
        self.assertNoResult(closing)
        self.stack.advance(2)
        self.successResultOf(closing)
        self.successResultOf(self.stack.sockets.close_all(CloseReason.SHUTDOWN))

    def test_rotation(self) -> None:
        """After a rotation of the token paired sockets close with 1001."""
        silent = self.stack.open()
        self.stack.sockets.close_paired(CloseReason.TOKEN_ROTATED)
        self.stack.sockets.close_all(CloseReason.SHUTDOWN)
        self.assertEqual(self.page.closed, (1001, "token_rotated"))
        self.assertEqual(silent.closed, (1001, "shutdown"))

    def test_pushed_to_while_closing(self) -> None:
        """What is sent to a socket that is closing is let go."""
        self.page.client.onCloseFrame = lambda *args: None
        self.stack.sockets.close_all(CloseReason.SHUTDOWN)
        self.stack.hub.push("log", {})
        self.assertEqual(self.page.take(), [])

    def test_peer_that_never_confirms_the_close(self) -> None:
        """A page that ignores our close is dropped soon after."""
        self.page.client.onCloseFrame = lambda *args: None
        self.stack.sockets.close_all(CloseReason.SHUTDOWN)
        self.stack.advance(5)
        self.assertEqual(len(self.stack.hub), 0)


class SlowReaderTests(SocketCase):
    """Tests for a page that does not read."""

    def setUp(self) -> None:
        """Send hello, then fill the transport."""
        super().setUp()
        self.page = self.stack.open(PAGE).hello()
        (socket,) = self.stack.sockets._sockets_authenticated
        transport: Any = socket.transport
        self.producer = transport.producer

    def test_pushes_wait_and_are_dropped(self) -> None:
        """Pushes wait, bounded; answers all come when the page reads again."""
        self.producer.pauseProducing()
        for n in range(300):
            self.stack.hub.push("log", {"n": n})
            self.stack.hub.push("plugins", {"n": n})
        self.page.request("echo", value=1)
        self.assertEqual(self.page.take(), [])
        self.producer.resumeProducing()
        got = self.page.take()
        self.assertEqual(got[-1]["result"], {"value": 1})
        states = [f for f in got if f.get("event") == "plugins"]
        self.assertEqual([f["data"]["n"] for f in states], [299])
        moments = [f["data"]["n"] for f in got if f.get("event") == "log"]
        self.assertEqual(moments, list(range(45, 300)))

    def test_too_much_unsent(self) -> None:
        """Over 32 MiB unsent the socket closes with 1013."""
        self.producer.pauseProducing()
        for _ in range(5):
            self.page.request("wait")
        for waiting in self.stack.kettle.waiting:
            waiting.callback(Anything("x" * 7 * MIB))
        self.assertEqual(self.page.closed, (1013, "slow_reader"))
        self.assertEqual(self.page.take(), [])

    def test_gone_while_full(self) -> None:
        """A page that goes while it does not read leaves nothing behind."""
        self.producer.pauseProducing()
        self.stack.hub.push("log", {})
        self.producer.stopProducing()
        self.producer.resumeProducing()
        self.assertEqual(self.page.take(), [])


class PendingSocketsTests(SocketCase):
    """Tests for many sockets."""

    def test_attack_sockets_that_never_send_hello(self) -> None:
        """Only 128 wait; one more takes the place of the oldest, and gets its own."""
        pages = [self.stack.open() for _ in range(SOCKETS_AWAITING_HELLO)]
        self.stack.open().hello()
        self.assertEqual(pages[0].closed, (1013, "too_many_sockets"))
        self.assertEqual(len(self.stack.sockets._sockets_waiting), 127)
        self.assertIsNone(pages[1].hello().closed)
        for _ in range(100):
            self.stack.open()
        self.assertEqual(len(self.stack.sockets._sockets_waiting), 128)
        self.assertEqual(len(self.stack.hub), 2)
        self.stack.advance(5)
        self.assertEqual(self.stack.sockets._sockets_waiting, {})

    def test_attack_control_frames_before_hello(self) -> None:
        """Eight are read; the next one closes the socket, and nothing after it is."""
        for send in ("sendPing", "sendPong"):
            page = self.stack.open()
            for _ in range(CONTROLS_BEFORE_HELLO):
                getattr(page.client, send)(b"x")
            self.stack.advance(0)
            self.assertIsNone(page.hello().closed)
            for _ in range(2 * CONTROLS_BEFORE_HELLO):
                getattr(page.client, send)(b"x")
            self.stack.advance(0)
            self.assertIsNone(page.closed)
            flood = self.stack.open()
            for _ in range(CONTROLS_BEFORE_HELLO + 1):
                getattr(flood.client, send)(b"x")
            self.assertEqual(flood.hello().closed, (1008, "hello_required"))

    def test_attack_upgrades_without_an_origin(self) -> None:
        """They use up what programs share; a page is let in all the same."""
        stack = Stack(dev=False, rate=0.001, burst=10)
        for _ in range(5):
            stack.open().hello("x" * 43)
        self.assertEqual(stack.ask("GET", "/v1/ws", *UPGRADE).status, 429)
        self.assertIsNone(stack.open(PAGE).hello().closed)

    def test_attack_cheap_requests_for_the_socket(self) -> None:
        """What a connection can ask for again and again costs no page's upgrade."""
        evil = "evil.example"
        for headers, host in (((PAGE,), HOST), ((PAGE, *UPGRADE), evil)):
            stack = Stack(dev=False, rate=0.001, burst=10)
            asked = write_request("GET", "/v1/ws", headers, host=host)
            answers = [stack.raw(asked)[:12] for _ in range(11)]
            self.assertEqual(answers[-1], b"HTTP/1.1 429")
            self.assertIsNone(stack.open(PAGE).hello().closed)

    def test_too_many_pages(self) -> None:
        """With 64 pages open the next upgrade is 503, until one goes."""
        pages = [self.stack.open().hello() for _ in range(SOCKETS_AUTHENTICATED)]
        answer = self.stack.ask("GET", "/v1/ws", *UPGRADE)
        self.assertEqual((answer.status, answer.code), (503, "unavailable"))
        pages[0].client.sendClose(1000)
        self.stack.advance(2)
        self.assertIsNone(self.stack.open().hello().closed)

    def test_race_for_the_last_place(self) -> None:
        """A page with the token but without a free place is closed with 1013."""
        late = [self.stack.open(), self.stack.open()]
        for _ in range(SOCKETS_AUTHENTICATED - 1):
            self.stack.open().hello()
        self.assertIsNone(late[0].hello().closed)
        self.assertEqual(late[1].hello().closed, (1013, "too_many_sockets"))


class UpgradeTests(SocketCase):
    """Tests for what comes before the first frame."""

    def test_foreign_page(self) -> None:
        """A page that is not allowed gets 403, and no socket is made."""
        for origin in (EVIL, ("Origin", "null"), ("Origin", "file://")):
            answer = self.stack.ask("GET", "/v1/ws", *UPGRADE, origin)
            self.assertEqual((answer.status, answer.code), (403, "forbidden_origin"))
        self.assertEqual(self.stack.sockets._sockets_waiting, {})

    def test_dns_rebinding_upgrade(self) -> None:
        """An upgrade at a foreign name gets 403, also without an Origin."""
        answer = self.stack.ask("GET", "/v1/ws", *UPGRADE, host="evil.example:42081")
        self.assertEqual((answer.status, answer.code), (403, "forbidden_host"))

    def test_added_origins(self) -> None:
        """An added origin may open a socket, ``file://`` too."""
        stack = Stack(added=[b"file://", b"https://app.example", b"vscode-webview:x"])
        for origin in ("file://", "https://app.example", "vscode-webview:x"):
            head = stack.raw(
                write_request("GET", "/v1/ws", (*UPGRADE, ("Origin", origin)))
            )
            self.assertTrue(head.startswith(b"HTTP/1.1 101"), origin)

    def test_headers_of_the_upgrade(self) -> None:
        """The upgrade names no software, and is as closed as any answer."""
        head = self.stack.raw(write_request("GET", "/v1/ws", (*UPGRADE, PAGE)))
        lines = head.partition(b"\r\n\r\n")[0].lower().split(b"\r\n")
        names = {line.partition(b":")[0] for line in lines[1:]}
        self.assertEqual(
            names,
            {
                b"upgrade",
                b"connection",
                b"sec-websocket-accept",
                b"cache-control",
                b"content-security-policy",
                b"cross-origin-resource-policy",
                b"vary",
                b"x-content-type-options",
            },
        )

    def test_no_upgrade(self) -> None:
        """A plain GET is a bad request, never a 404."""
        answer = self.stack.ask("GET", "/v1/ws")
        self.assertEqual((answer.status, answer.code), (400, "bad_request"))

    def test_bad_handshakes(self) -> None:
        """A handshake that breaks RFC 6455 is a 400 of ours, repeating nothing."""
        good = dict(UPGRADE)
        for change in (
            {"Sec-WebSocket-Key": SECRET},
            {"Sec-WebSocket-Key": SECRET[:13].ljust(22, "*") + "=="},
            {"Sec-WebSocket-Version": SECRET},
            {"Sec-WebSocket-Version": "12"},
            {"Connection": SECRET},
            {"Sec-WebSocket-Protocol": f"{SECRET}, {SECRET}"},
            {"Sec-WebSocket-Extensions": f'x; y="{SECRET}'},
        ):
            headers = tuple({**good, **change}.items())
            received = self.stack.raw(write_request("GET", "/v1/ws", headers))
            if received.startswith(b"HTTP/1.1 101"):
                self.assertNotIn(SECRET.encode(), received)
                continue
            answer = read_answer(received)
            self.assertEqual((answer.status, answer.code), (400, "bad_request"))
            self.assertNotIn(SECRET.encode(), received)
            self.assertEqual(answer.headers["x-content-type-options"], "nosniff")
            self.assertNotIn("server", answer.headers)

    def test_version_is_reported(self) -> None:
        """A client of another version gets the supported ones (RFC 6455, 4.4)."""
        headers = {**dict(UPGRADE), "Sec-WebSocket-Version": "99"}
        answer = self.stack.ask("GET", "/v1/ws", *headers.items())
        self.assertIn("13", answer.headers["sec-websocket-version"])

    def test_old_http(self) -> None:
        """HTTP/1.0 has no upgrade (RFC 6455, 4.2.1)."""
        upgrade = write_request("GET", "/v1/ws", UPGRADE)
        received = self.stack.raw(upgrade.replace(b"HTTP/1.1", b"HTTP/1.0"))
        self.assertTrue(received.startswith(b"HTTP/1.0 400"))
        self.assertEqual(read_answer(received).code, "bad_request")

    def test_absolute_target(self) -> None:
        """An upgrade may name the host in its target."""
        upgrade = write_request("GET", f"http://{HOST}/v1/ws", UPGRADE)
        self.assertTrue(self.stack.raw(upgrade).startswith(b"HTTP/1.1 101"))

    def test_attack_log_lines(self) -> None:
        """Bad handshakes are counted, one line a second, and are no warnings."""
        lines: list[tuple[str, int]] = []

        @provider(ILogObserver)
        def note(event: Any) -> None:
            if event["log_level"] >= LogLevel.info:
                lines.append((formatEvent(event), event["log_level"].name))

        globalLogPublisher.addObserver(note)
        self.addCleanup(globalLogPublisher.removeObserver, note)
        bad = write_request("GET", "/v1/ws", UPGRADE[:2])
        for _ in range(20):
            self.assertTrue(self.stack.raw(bad).startswith(b"HTTP/1.1 400"))
        self.stack.clock.advance(1)
        self.assertEqual(
            lines,
            [
                ("WebSocket handshakes refused: 1", "info"),
                ("WebSocket handshakes refused: 19", "info"),
            ],
        )

    def test_missing_parts(self) -> None:
        """Without a key or a version there is no socket."""
        for missing in ("Sec-WebSocket-Key", "Sec-WebSocket-Version", "Connection"):
            headers = [h for h in UPGRADE if h[0] != missing]
            answer = self.stack.ask("GET", "/v1/ws", *headers)
            self.assertEqual(answer.status, 400, missing)

    def test_other_methods(self) -> None:
        """Only GET upgrades."""
        answer = self.stack.ask("POST", "/v1/ws", *UPGRADE, body=b"")
        self.assertEqual(answer.status, 405)
        head = self.stack.raw(write_request("HEAD", "/v1/ws", UPGRADE))
        self.assertTrue(head.startswith(b"HTTP/1.1 400"))

    def test_name_of_the_host(self) -> None:
        """A socket may be opened by each of the daemon's names."""
        for host in (HOST, "localhost:42081"):
            self.assertIsNone(self.stack.open(PAGE, host=host).hello().closed)
