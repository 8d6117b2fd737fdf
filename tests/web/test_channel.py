"""Tests for bridge.web.channel: framing, early refusals, deadlines, limits."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import limits
from bridge.protocol.errors import Code
from bridge.web.headers import phrase

from ..strategies import SECRET
from .stack import (
    BEARER,
    EVIL,
    HOST,
    JSON,
    PAGE,
    Anything,
    Stack,
    read_answer,
    write_request,
)
from .test_request import ALWAYS, RequestCase

CALL = "/v1/kettle/note"
HEALTH = write_request("GET", "/v1/health", ())


class ChannelCase(RequestCase):
    """Has a stack of a ``--dev`` daemon, and connections to it."""

    def connect(self) -> tuple[Any, Any]:
        """Open a connection that the test closes."""
        channel, transport = self.stack.connect()
        self.addCleanup(self.end, channel, transport)
        return channel, transport

    def end(self, channel: Any, transport: Any) -> None:
        """End a connection, unless it was ended or upgraded."""
        if transport.protocol is channel and not transport.disconnected:
            transport.disconnected = True
            channel.connectionLost(Failure(ConnectionDone()))

    def assertAnswered(self, transport: Any, status: int, code: str) -> None:
        """Expect one refusal, after which the connection ends."""
        answer = read_answer(transport.value())
        self.assertRefused(answer, status, code)
        self.assertEqual(answer.headers["connection"], "close")
        self.assertEqual(transport.value().count(b"HTTP/1."), 1)
        self.assertTrue(transport.half_closed)


class EarlyTests(ChannelCase):
    """Tests for refusals while the body is still to come."""

    def early(self, *headers: tuple[str, str], path: str = CALL) -> Any:
        """Send the head of a call with a body that does not come."""
        channel, transport = self.connect()
        length = () if any("Transfer" in n for n, _ in headers) else (LENGTH,)
        channel.dataReceived(write_request("POST", path, (*headers, *length)))
        return channel, transport

    def test_every_answer(self) -> None:
        """Each is answered when the head is there, in the one order there is."""
        big = ("Content-Length", str(limits.REST_BODY_BYTES + 1))
        for headers, path, status, code in (
            ((EVIL, BEARER, JSON), CALL, 403, "forbidden_origin"),
            ((BEARER, JSON), "/nothing", 404, "not_found"),
            ((BEARER, JSON), "/v1/health", 405, "method_not_allowed"),
            ((JSON,), CALL, 401, "unauthorized"),
            ((BEARER,), CALL, 415, "unsupported_media_type"),
        ):
            _, transport = self.early(*headers, path=path)
            self.assertAnswered(transport, status, code)
        channel, transport = self.connect()
        channel.dataReceived(write_request("POST", CALL, (BEARER, JSON, big)))
        self.assertAnswered(transport, 413, "payload_too_large")
        self.assertEqual(self.stack.kettle.heard, [])

    def test_host_and_rate(self) -> None:
        """So are a foreign name and a request over the rate."""
        channel, transport = self.connect()
        head = write_request("POST", CALL, (BEARER, JSON, LENGTH), host="evil.example")
        channel.dataReceived(head)
        self.assertAnswered(transport, 403, "forbidden_host")
        self.stack.programs.burst = 0
        self.stack.programs._level = 0.0
        _, transport = self.early(BEARER, JSON)
        self.assertAnswered(transport, 429, "rate_limited")
        self.assertIn(b"HTTP/1.1 429 Too Many Requests\r\n", transport.value())

    def test_chunks(self) -> None:
        """A body in chunks is refused before its first chunk too."""
        _, transport = self.early(EVIL, ("Transfer-Encoding", "chunked"))
        self.assertAnswered(transport, 403, "forbidden_origin")

    def test_body_of_what_takes_none(self) -> None:
        """A body where none is taken is refused, also on the upgrade."""
        for method, path, extra in (
            ("OPTIONS", CALL, (PAGE,)),
            ("GET", "/v1/health", ()),
            ("GET", "/v1/describe", (BEARER,)),
            ("GET", "/v1/ws", (("Upgrade", "websocket"), ("Connection", "Upgrade"))),
        ):
            for body in (LENGTH, ("Transfer-Encoding", "chunked")):
                channel, transport = self.connect()
                channel.dataReceived(write_request(method, path, (*extra, body)))
                self.assertAnswered(transport, 413, "payload_too_large")

    def test_what_still_comes_is_thrown_away(self) -> None:
        """The rest is read, so that the answer is; but it is no request."""
        channel, transport = self.early(BEARER)
        channel.dataReceived(HEALTH * 100)
        self.assertAnswered(transport, 415, "unsupported_media_type")
        self.assertFalse(transport.disconnected)

    def test_attack_endless_body_after_a_refusal(self) -> None:
        """The rest is read only so far."""
        channel, transport = self.early(BEARER)
        for _ in range(limits.LINGER_BYTES // limits.MIB):
            channel.dataReceived(b"x" * limits.MIB)
        self.assertFalse(transport.aborting)
        channel.dataReceived(b"x")
        self.assertTrue(transport.aborting)

    def test_attack_staying_after_a_refusal(self) -> None:
        """And only so long."""
        _, transport = self.early(BEARER)
        self.stack.clock.advance(limits.LINGER_SECONDS)
        self.assertTrue(transport.aborting)

    def test_chunks_over_the_cap(self) -> None:
        """A body in chunks is refused when it exceeds the cap, not when it ends."""
        channel, transport = self.early(BEARER, JSON, ("Transfer-Encoding", "chunked"))
        chunk = b"%x\r\n%s\r\n" % (limits.MIB, b"x" * limits.MIB)
        for _ in range(8):
            channel.dataReceived(chunk)
        self.assertEqual(transport.value(), b"")
        channel.dataReceived(b"1\r\nx")
        self.assertAnswered(transport, 413, "payload_too_large")

    def test_leave_to_send(self) -> None:
        """``Expect: 100-continue`` is answered only when the body will be read."""
        expect = ("Expect", "100-continue")
        _, transport = self.early(BEARER, JSON, expect)
        self.assertEqual(transport.value(), b"HTTP/1.1 100 Continue\r\n\r\n")
        _, transport = self.early(JSON, expect)
        self.assertAnswered(transport, 401, "unauthorized")


LENGTH = ("Content-Length", "100")


def split(received: bytes) -> list[Any]:
    """Read several responses."""
    parts = received.split(b"HTTP/1.1 ")[1:]
    return [read_answer(b"HTTP/1.1 " + part) for part in parts]


class FramingTests(ChannelCase):
    """Tests for what is no HTTP, or not one request."""

    def refused(self, raw: bytes, status: int, code: str) -> None:
        """Expect raw bytes to be refused in the one form there is."""
        channel, transport = self.connect()
        channel.dataReceived(raw)
        self.assertAnswered(transport, status, code)
        line = transport.value().partition(b"\r\n")[0]
        self.assertEqual(line, b"HTTP/1.1 %d %s" % (status, phrase(status)))

    def test_no_http(self) -> None:
        """Bad request lines and headers are 400, in JSON, with every header."""
        host = b"Host: " + HOST.encode()
        for raw in (
            b"nonsense\r\n\r\n",
            b"GET /v1/health\r\n",
            b"GET  /v1/health HTTP/1.1\r\n\r\n",
            b"GET /v1/health HTTP/2.0\r\n\r\n",
            b"GET /v1/health HTTP/1.1 x\r\n\r\n",
            b"G\xc3\xa9T / HTTP/1.1\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
            b"GET / HTTP/1.1\r\nbad name: x\r\n" + host + b"\r\n\r\n",
            b"GET / HTTP/1.1\r\nX: a\x00b\r\n" + host + b"\r\n\r\n",
            b"GET / HTTP/1.1\nHost: x\n\nGET / HTTP/1.1\r\n\r\n",
        ):
            self.refused(raw, 400, "bad_request")

    def test_attack_tls(self) -> None:
        """A client that begins TLS is answered at once, though it ends no line."""
        for hello in (b"\x16", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20):
            self.refused(hello, 400, "bad_request")
        self.assertIn(b"this port does not speak TLS", self.stack.raw(b"\x16\x03"))

    def test_too_large(self) -> None:
        """A long line is 414, large or many headers are 431."""
        size = limits.HEAD_BYTES
        line = b"GET / HTTP/1.1\r\n"
        for raw, status, code in (
            (b"GET /" + b"a" * size, 414, "uri_too_long"),
            (b"GET /" + b"a" * size + b" HTTP/1.1\r\n", 414, "uri_too_long"),
            (line + b"X: " + b"a" * size, 431, "head_too_large"),
            (line + b"X: " + b"a" * size + b"\r\n\r\n", 431, "head_too_large"),
            (line + b"X: aaaaaaa\r\n" * (size // 8), 431, "head_too_large"),
            (line + b"X: a\r\n" * (limits.HEADERS + 2), 431, "head_too_large"),
            (
                line + b"X: a\r\n" * (limits.HEADERS + 1) + b"\r\n",
                431,
                "head_too_large",
            ),
        ):
            self.refused(raw, status, code)

    def test_attack_request_smuggling(self) -> None:
        """Two ends of one body are no request: 400, and nothing after it is read."""
        smuggled = write_request("POST", CALL, (BEARER, JSON), b'{"text":"x"}')
        for version, headers in (
            ("1.1", ("Content-Length: 2", "Content-Length: 3")),
            ("1.1", ("Content-Length: 2", "Content-Length: 2")),
            ("1.1", ("Content-Length: 2, 2",)),
            ("1.1", ("Content-Length: 2", "Transfer-Encoding: chunked")),
            ("1.1", ("Transfer-Encoding: chunked", "Content-Length: 2")),
            ("1.1", ("Content-Length: 2", "Transfer-Encoding: identity")),
            ("1.1", ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked")),
            ("1.1", ("Transfer-Encoding: gzip, chunked",)),
            ("1.1", ("Transfer-Encoding: identity",)),
            ("1.1", ("Transfer-Encoding: xchunked",)),
            ("1.0", ("Transfer-Encoding: chunked",)),
            ("1.1", ("Transfer-Encoding : chunked",)),
            ("1.1", ("Content-Length: +2",)),
            ("1.1", ("Content-Length: -2",)),
            ("1.1", ("Content-Length: 0x2",)),
            ("1.1", ("Content-Length: ",)),
            ("1.1", ("Content-Length: " + "9" * 5000,)),
        ):
            head = "\r\n".join(
                [
                    f"POST {CALL} HTTP/{version}",
                    f"Host: {HOST}",
                    "Authorization: " + BEARER[1],
                    "Content-Type: application/json",
                    *headers,
                    "",
                    "",
                ]
            ).encode()
            self.refused(head + b"{}0\r\n\r\n" + smuggled, 400, "bad_request")
        self.assertEqual(self.stack.kettle.heard, [])

    def test_bad_chunks(self) -> None:
        """Malformed chunks are 400, and what follows is no request."""
        head = write_request(
            "POST", CALL, (BEARER, JSON, ("Transfer-Encoding", "chunked"))
        )
        for body in (b"x\r\n", b"-1\r\n", b"2\r\n{}!!", b"1" * 2000, b"0x2\r\n{}\r\n"):
            self.refused(head + body + HEALTH, 400, "bad_request")
        self.assertEqual(self.stack.kettle.heard, [])

    def test_old_http(self) -> None:
        """HTTP/1.0 is answered once, when it names the host; 0.9 never."""
        old = b"GET /v1/health HTTP/1.0\r\nHost: %s\r\n\r\n" % HOST.encode()
        answer = read_answer(self.stack.raw(old))
        self.assertEqual((answer.status, answer.json["ok"]), (200, True))

    def test_targets(self) -> None:
        """Only the exact paths are paths: 404 for every disguise and other form."""
        for path in (
            "/v1/kettle%2fnote",
            "/v1/kettle%2Fnote",
            "/v1%2fkettle/note",
            "/v1/kettle/note%2f",
            "/v1/%2e%2e/kettle/note",
            "/v1/./kettle/note",
            "/v1/kettle/../kettle/note",
            "/v1/kettle//note",
            "//v1/kettle/note",
            "/v1/kettle/note/",
            "/v1/kettle/note;x=y",
            "/v1/kettle;x/note",
            "/v1/kettle\\note",
            "/v1/kettle/note%00",
            "/v1/kettle/note#x",
            "/%761/kettle/note",
            "/v1/kettle",
            f"https://{HOST}/v1/kettle/note",
            f"http:/{HOST}/v1/kettle/note",
            f"http://{HOST}//v1/kettle/note",
            f"http://{HOST}",
            f"{HOST}/v1/kettle/note",
            HOST,
            "*",
        ):
            answer = self.stack.ask("POST", path, BEARER, JSON, body=b'{"text":"x"}')
            self.assertRefused(answer, 404, "not_found")
        for path in (
            "/v1//health",
            "/v1/health/",
            "/v1/health;x=y",
            "/v1/h%65alth",
            "/v1%2fhealth",
            f"https://{HOST}/v1/health",
            f"http://{HOST}/v1/health/",
        ):
            self.assertRefused(self.stack.ask("GET", path), 404, "not_found")
        self.assertEqual(self.stack.kettle.heard, [])

    def test_absolute_targets(self) -> None:
        """An absolute target is accepted, and names the host (RFC 9112, 3.2.2)."""
        for target in (f"http://{HOST}/v1/health", f"HTTP://{HOST}/v1/health?x=/y"):
            for host in (HOST, "evil.example"):
                answer = self.stack.ask("GET", target, host=host)
                self.assertEqual(answer.status, 200)
            answer = self.stack.ask("GET", target, host=None)
            self.assertRefused(answer, 400, "bad_request")
        self.assertEqual(self.stack.ask("GET", f"http://{HOST}?/v1/health").status, 404)

    def test_attack_absolute_target_of_another_host(self) -> None:
        """A foreign name in the target is refused, whatever the Host header is."""
        for authority in (
            "",
            "evil.example",
            "evil.example:42081",
            "127.0.0.1",
            f"user@{HOST}",
            f"{HOST}@evil.example",
            f"{HOST}\\",
        ):
            answer = self.stack.ask("GET", f"http://{authority}/v1/health")
            self.assertRefused(answer, 403, "forbidden_host")

    def test_methods(self) -> None:
        """HEAD is GET without a body, ``OPTIONS *`` a preflight, others are 405."""
        head = self.stack.ask("HEAD", "/v1/health")
        get = self.stack.ask("GET", "/v1/health")
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(head.headers, get.headers)
        self.assertEqual(self.stack.ask("OPTIONS", "*").status, 204)
        for method in ("TRACE", "CONNECT", "PUT", "PATCH", "get", "POST"):
            answer = self.stack.ask(method, "/v1/health", body=b"")
            self.assertRefused(answer, 405, "method_not_allowed")
            self.assertEqual(answer.headers["allow"], "GET, HEAD")
        self.assertRefused(self.stack.ask("CONNECT", HOST), 404, "not_found")
        for method in ("GET", "HEAD", "TRACE"):
            answer = self.stack.ask(method, CALL, BEARER)
            self.assertEqual((answer.status, answer.headers["allow"]), (405, "POST"))

    def test_head_of_the_socket(self) -> None:
        """HEAD opens no socket."""
        upgrade = ("Upgrade", "websocket"), ("Connection", "Upgrade")
        answer = self.stack.ask("HEAD", "/v1/ws", *upgrade)
        self.assertEqual((answer.status, answer.body), (400, b""))

    def test_attack_pipelining(self) -> None:
        """One request is answered; what comes with it, or after it, is thrown away."""
        call = write_request("POST", CALL, (BEARER, JSON), b'{"text":"x"}')
        for first, status in ((HEALTH, 200), (call, 200), (HEALTH[1:], 405)):
            for sent in ([first + call * 9], [first, call, call]):
                self.stack.kettle.heard.clear()
                channel, transport = self.connect()
                for piece in sent:
                    channel.dataReceived(piece)
                answer = read_answer(transport.value())
                self.assertEqual(answer.status, status)
                self.assertEqual(answer.headers["connection"], "close")
                self.assertEqual(transport.value().count(b"HTTP/1.1 "), 1)
                self.assertEqual(self.stack.kettle.heard, ["x"] * (first is call))
                self.assertTrue(transport.half_closed)

    def test_attack_endless_bytes_behind_a_call(self) -> None:
        """What comes while a call runs is not kept, and not read for ever."""
        channel, transport = self.connect()
        call = write_request("POST", "/v1/kettle/wait", (BEARER, JSON), b"{}")
        channel.dataReceived(call)
        for _ in range(limits.LINGER_BYTES // limits.MIB):
            channel.dataReceived(b"x" * limits.MIB)
        self.assertFalse(transport.aborting)
        channel.dataReceived(b"x")
        self.assertTrue(transport.aborting)

    def test_half_closed(self) -> None:
        """A client that sends no more is answered what it asked, then closed."""
        for sent, answered in ((b"", 0), (HEALTH[:9], 0), (HEALTH, 1)):
            channel, transport = self.connect()
            channel.dataReceived(sent)
            channel.readConnectionLost()
            self.assertEqual(transport.value().count(b"HTTP/1.1 200"), answered)
            self.assertTrue(transport.disconnecting)

    def test_half_closed_behind_a_call(self) -> None:
        """A call that runs is answered, too."""
        channel, transport = self.connect()
        call = write_request("POST", "/v1/kettle/wait", (BEARER, JSON), b"{}")
        channel.dataReceived(call)
        channel.readConnectionLost()
        self.assertFalse(transport.disconnecting)
        (waiting,) = self.stack.kettle.waiting
        waiting.callback(Anything(1))
        self.assertEqual(read_answer(transport.value()).status, 200)
        self.assertTrue(transport.disconnecting)

    def test_half_closed_while_lingering(self) -> None:
        """A client that has ended, too, is waited for no longer."""
        channel, transport = self.connect()
        channel.dataReceived(b"no http\r\n\r\n")
        self.assertTrue(transport.half_closed)
        self.assertFalse(transport.disconnecting)
        channel.readConnectionLost()
        self.assertTrue(transport.disconnecting)

    @given(st.binary(max_size=200), st.booleans())
    @settings(deadline=None)
    def test_any_bytes(self, raw: bytes, ended: bool) -> None:
        """Whatever comes, every answer is one of ours, and none holds what was sent."""
        sent = raw + SECRET.encode() + (b"\r\n\r\n" if ended else b"")
        received = self.stack.raw(sent)
        for answer in split(received):
            for name, value in ALWAYS.items():
                self.assertEqual(answer.headers[name], value)
        self.assertNotIn(SECRET.encode(), received)
        self.assertEqual(len(self.stack.site.shared.pending), 0)

    @given(st.lists(st.integers(1, 60), max_size=8))
    @settings(deadline=None)
    def test_any_split(self, cuts: list[int]) -> None:
        """However a request is cut into segments, it is read the same."""
        raw = write_request("POST", "/v1/kettle/echo", (BEARER, JSON), b'{"value":1}')
        pieces, rest = [], raw
        for cut in cuts:
            pieces.append(rest[:cut])
            rest = rest[cut:]
        answer = read_answer(self.stack.raw(*pieces, rest))
        self.assertEqual(answer.json, {"value": 1})


class DeadlineTests(ChannelCase):
    """Tests for connections that take their time."""

    def setUp(self) -> None:
        """Build a daemon whose clock the test turns."""
        self.stack = Stack(clock=MemoryReactorClock())

    def test_attack_slow_head(self) -> None:
        """A head that dribbles is ended: bytes do not prolong its time."""
        channel, transport = self.connect()
        for n in range(int(limits.HEAD_SECONDS)):
            channel.dataReceived(HEALTH[n : n + 1])
            self.stack.clock.advance(1)
        self.assertAnswered(transport, 408, "timed_out")
        self.stack.clock.advance(limits.LINGER_SECONDS)
        self.assertTrue(transport.aborting)

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
        self.assertEqual(self.stack.kettle.heard, [])

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
        """Who has read everything has less time to close."""
        channel, transport = self.connect()
        channel.dataReceived(HEALTH)
        self.stack.clock.advance(limits.LINGER_SECONDS)
        self.assertTrue(transport.aborting)

    def test_a_call_has_its_own_time(self) -> None:
        """No deadline of the connection ends a call that runs."""
        channel, transport = self.connect()
        channel.dataReceived(
            write_request("POST", "/v1/kettle/wait", (BEARER, JSON), b"{}")
        )
        self.stack.clock.advance(10_000)
        (waiting,) = self.stack.kettle.waiting
        waiting.callback(Anything(1))
        self.assertEqual(read_answer(transport.value()).status, 200)


class PendingConnectionsTests(ChannelCase):
    """Tests for many connections at once."""

    def test_attack_idle_connections(self) -> None:
        """Those who only hold connections open drop each other; who asks is served."""
        idle = [self.connect()[1] for _ in range(500)]
        self.assertEqual(
            len(self.stack.site.shared.pending), limits.CONNECTIONS_WAITING
        )
        kept = limits.CONNECTIONS_WAITING
        self.assertTrue(all(transport.aborting for transport in idle[:-kept]))
        self.assertFalse(any(transport.aborting for transport in idle[-kept:]))
        self.assertEqual(self.stack.ask("GET", "/v1/health").status, 200)

    def test_calls_and_sockets_are_not_dropped(self) -> None:
        """Who has been let in stays: a body, a call, a socket."""
        page = self.stack.open(PAGE).hello()
        call = write_request("POST", "/v1/kettle/wait", (BEARER, JSON), b"{}")
        reading, reads = self.connect()
        reading.dataReceived(call[:-1])
        calling, calls = self.connect()
        calling.dataReceived(call)
        for _ in range(500):
            self.connect()
        page.request("echo", value=1)
        self.assertEqual(page.take()[0]["result"], {"value": 1})
        reading.dataReceived(call[-1:])
        for waiting in self.stack.kettle.waiting:
            waiting.callback(Anything(1))
        for transport in (reads, calls):
            self.assertEqual(read_answer(transport.value()).status, 200)

    def test_nothing_is_left(self) -> None:
        """A connection that has gone takes no place and has no timer."""
        for raw in (b"", b"x", HEALTH, HEALTH[:20], b"bad\r\n\r\n"):
            self.stack.raw(raw)
        self.assertEqual(len(self.stack.site.shared.pending), 0)
        self.assertEqual(self.stack.clock.getDelayedCalls(), [])


class PhraseTests(SynchronousTestCase):
    """Tests for the status lines."""

    def test_every_status(self) -> None:
        """Every status a refusal may have is sent with its own reason phrase."""
        phrases = {code.status: phrase(code.status) for code in Code}
        self.assertEqual(phrases[429], b"Too Many Requests")
        self.assertEqual(len(set(phrases.values())), len(phrases))
        self.assertNotIn(b"", phrases.values())
