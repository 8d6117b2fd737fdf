"""Tests for bridge.web.request: the validation of every request."""

from __future__ import annotations

from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from ..strategies import SECRET
from .stack import (
    BEARER,
    EVIL,
    JSON,
    PAGE,
    Answer,
    Stack,
    read_answer,
    write_request,
)

ALWAYS = {
    "content-type": "application/json",
    "cache-control": "no-store",
    "connection": "close",
    "content-security-policy": "default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
    "vary": "Origin",
    "x-content-type-options": "nosniff",
}
PREFLIGHT = (
    ("Access-Control-Request-Method", "POST"),
    ("Access-Control-Request-Headers", "authorization,content-type"),
)
PNA = ("Access-Control-Request-Private-Network", "true")


class RequestCase(SynchronousTestCase):
    """Has a stack of a ``--dev`` daemon."""

    def setUp(self) -> None:
        """Build it."""
        self.stack = Stack()

    def assertRefused(self, answer: Answer, status: int, code: str) -> None:
        """Expect a refusal in the one form there is."""
        self.assertEqual((answer.status, answer.code), (status, code))
        self.assertEqual(set(answer.json), {"ok", "error"})
        self.assertIs(answer.json["ok"], False)
        for name, value in ALWAYS.items():
            self.assertEqual(answer.headers[name], value)


class HeaderTests(RequestCase):
    """Tests for the headers of responses."""

    def test_every_response(self) -> None:
        """Whatever is answered has the same headers, and names no software."""
        for answer in (
            self.stack.ask("GET", "/v1/health"),
            self.stack.ask("HEAD", "/v1/health"),
            self.stack.ask("GET", "/v1/describe", BEARER),
            self.stack.ask("GET", "/v1/describe"),
            self.stack.ask("GET", "/nothing"),
            self.stack.ask("POST", "/v1/health", body=b""),
            self.stack.ask("GET", "/v1/health", EVIL),
            self.stack.ask("GET", "/v1/health", host="evil.example"),
            self.stack.ask("GET", "/v1/ws"),
            self.stack.call("echo"),
            self.stack.call("refuse"),
            self.stack.call("echo", body=b"\xff"),
            self.stack.call("echo", body=b"x" * 20),
        ):
            names = set(answer.headers) - {"transfer-encoding", "content-length"}
            extra = {"allow", "www-authenticate"}
            self.assertEqual(names - extra, set(ALWAYS))
            for name, value in ALWAYS.items():
                self.assertEqual(answer.headers[name], value)

    def test_allowed_page(self) -> None:
        """An allowed page may read the answer, refusals too; never any page."""
        for answer in (
            self.stack.ask("GET", "/v1/health", PAGE),
            self.stack.ask("GET", "/nothing", PAGE),
            self.stack.ask("GET", "/v1/describe", PAGE),
        ):
            self.assertEqual(answer.headers["access-control-allow-origin"], PAGE[1])
            self.assertNotIn("access-control-allow-credentials", answer.headers)

    def test_foreign_page_cannot_read_anything(self) -> None:
        """A page that is not allowed gets no header that would let it read."""
        for origin in (EVIL, ("Origin", "null"), ("Origin", "*"), ("Origin", "")):
            answer = self.stack.ask("GET", "/v1/health", origin)
            self.assertRefused(answer, 403, "forbidden_origin")
            self.assertFalse([h for h in answer.headers if h.startswith("access-")])

    def test_response_splitting(self) -> None:
        """An origin is given back only when it is an allowed one, so as it is."""
        raw = write_request("GET", "/v1/health", ()).replace(
            b"\r\n\r\n", b"\r\nOrigin: http://localhost\rX-Evil: 1\r\n\r\n"
        )
        self.assertNotIn(b"X-Evil", self.stack.raw(raw))


class PreflightTests(RequestCase):
    """Tests for preflights."""

    def test_allowed(self) -> None:
        """An allowed page's preflight is answered, at any path."""
        for path in ("/v1/health", "/v1/kettle/echo", "/nothing", "*"):
            answer = self.stack.ask("OPTIONS", path, PAGE, *PREFLIGHT)
            self.assertEqual((answer.status, answer.body), (204, b""))
            self.assertEqual(
                answer.headers,
                {
                    **{k: v for k, v in ALWAYS.items() if k != "content-type"},
                    "access-control-allow-origin": PAGE[1],
                    "access-control-allow-methods": "GET, POST, OPTIONS",
                    "access-control-allow-headers": "content-type, authorization",
                    "access-control-max-age": "600",
                },
            )

    def test_refused(self) -> None:
        """A foreign page's preflight is 403 and allows nothing."""
        answer = self.stack.ask("OPTIONS", "/v1/kettle/echo", EVIL, *PREFLIGHT, PNA)
        self.assertRefused(answer, 403, "forbidden_origin")
        self.assertFalse([h for h in answer.headers if h.startswith("access-")])

    def test_without_an_origin(self) -> None:
        """A program may ask too, and its answer has no CORS headers."""
        answer = self.stack.ask("OPTIONS", "/v1/health", PNA)
        self.assertEqual(answer.status, 204)
        self.assertFalse([h for h in answer.headers if h.startswith("access-")])

    def test_private_network_access(self) -> None:
        """The private network header is answered to allowed pages that ask."""
        name = "access-control-allow-private-network"
        asked = self.stack.ask("OPTIONS", "/v1/health", PAGE, *PREFLIGHT, PNA)
        self.assertEqual(asked.headers[name], "true")
        unasked = self.stack.ask("OPTIONS", "/v1/health", PAGE, *PREFLIGHT)
        self.assertNotIn(name, unasked.headers)


class RateTests(SynchronousTestCase):
    """Tests for requests over the rate."""

    def setUp(self) -> None:
        """Build a daemon with small buckets."""
        self.stack = Stack(rate=0.5, burst=3)

    def test_everything_draws(self) -> None:
        """Health, preflights, calls and 404s draw from one bucket for each origin."""
        for _ in range(3):
            self.stack.ask("GET", "/v1/health")
        answers = [
            self.stack.ask("GET", "/v1/health"),
            self.stack.call("echo"),
            self.stack.ask("GET", "/nothing"),
        ]
        self.stack.ask("OPTIONS", "/v1/health", PAGE)
        self.stack.ask("GET", "/v1/health", PAGE)
        self.stack.ask("GET", "/nothing", PAGE)
        for answer in (
            *answers,
            self.stack.ask("OPTIONS", "/v1/health", PAGE),
            self.stack.ask("GET", "/v1/health", PAGE),
        ):
            self.assertEqual((answer.status, answer.code), (429, "rate_limited"))
            self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)
            self.assertEqual(answer.json["error"]["retryAfter"], 2)

    def test_limited_page_can_read_why(self) -> None:
        """An allowed page over the rate may read when to come back."""
        for _ in range(3):
            self.stack.ask("GET", "/v1/health", PAGE)
        answer = self.stack.ask("GET", "/v1/health", PAGE)
        self.assertEqual(answer.status, 429)
        self.assertEqual(answer.headers["access-control-allow-origin"], PAGE[1])

    def test_sockets_have_their_own(self) -> None:
        """A drained bucket of HTTP leaves an open socket what it had."""
        page = self.stack.open(PAGE).hello()
        for _ in range(5):
            self.stack.ask("GET", "/v1/health")
        page.request("echo", value=1)
        self.assertEqual(page.take()[0]["result"], {"value": 1})


class AttackTests(RequestCase):
    """Tests named after what they stop."""

    def test_dns_rebinding_call(self) -> None:
        """A rebound name is refused, token and same origin notwithstanding."""
        for host in ("evil.example:42081", "0.0.0.0:42081", "127.0.0.1:80"):
            answer = self.stack.ask(
                "POST",
                "/v1/kettle/note",
                BEARER,
                JSON,
                ("Sec-Fetch-Site", "same-origin"),
                body=b'{"text":"x"}',
                host=host,
            )
            self.assertRefused(answer, 403, "forbidden_host")
        self.assertEqual(self.stack.kettle.heard, [])

    def test_cross_site_form_post(self) -> None:
        """A form can't call: neither its origin nor its content type passes."""
        for kind in (
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
        ):
            form = ("Content-Type", kind)
            foreign = self.stack.ask(
                "POST", "/v1/kettle/note", EVIL, form, body=b'{"text":"x"}'
            )
            self.assertRefused(foreign, 403, "forbidden_origin")
            own = self.stack.ask(
                "POST", "/v1/kettle/note", PAGE, BEARER, form, body=b'{"text":"x"}'
            )
            self.assertRefused(own, 415, "unsupported_media_type")
        self.assertEqual(self.stack.kettle.heard, [])

    def test_cross_site_form_is_not_parsed(self) -> None:
        """No form is read before it is known who sent it."""
        form = ("Content-Type", "multipart/form-data; boundary=x")
        urlencoded = ("Content-Type", "application/x-www-form-urlencoded")
        with (
            mock.patch("twisted.web.http._getMultiPartArgs") as multipart,
            mock.patch("twisted.web.http.parse_qs") as pairs,
        ):
            for kind in (form, urlencoded):
                body = b"a=b&" * 1000
                path = "/v1/kettle/note?a=b"
                answer = self.stack.ask("POST", path, kind, body=body)
                self.assertRefused(answer, 401, "unauthorized")
        multipart.assert_not_called()
        pairs.assert_not_called()

    @given(
        st.sampled_from(["GET", "POST", "PUT", "OPTIONS"]),
        st.text("abc/%.?#=ä_-*{}<>", max_size=12),
        st.sampled_from(["Origin", "Authorization", "Content-Type", "Cookie", "X"]),
    )
    @settings(deadline=None)
    def test_never_echoes(self, method: str, tail: str, name: str) -> None:
        """Whatever path and header come, no answer holds them."""
        path = "/" + tail.replace("ä", "%e4") + SECRET
        answer = self.stack.ask(method, path, (name, SECRET), body=b"{}")
        self.assertIn(answer.status, (204, 400, 401, 403, 404, 405, 413))
        self.assertNotIn(SECRET.encode(), answer.body)
        self.assertNotIn(SECRET, str(answer.headers))
        self.stack.clock.advance(1)


class BodyTests(RequestCase):
    """Tests for bodies."""

    def raw_call(self, body: bytes, *headers: tuple[str, str]) -> Answer:
        """Call with a body that is written as it is."""
        head = write_request("POST", "/v1/kettle/echo", (BEARER, JSON, *headers))
        return read_answer(self.stack.raw(head, body))

    def test_nothing_is_kept_of_what_is_refused(self) -> None:
        """Of a body that will not be read nothing is kept: it costs no memory."""
        path = "/v1/kettle/echo"
        for headers in ((JSON,), (BEARER,), (BEARER, JSON, ("Origin", "null"))):
            channel, _ = self.stack.connect()
            length = ("Content-Length", "1000000")
            head = write_request("POST", path, (*headers, length))
            with mock.patch("bridge.web.request.BytesIO") as kept:
                channel.dataReceived(head + b"x" * 1000)
                channel.dataReceived(b"x" * 1000)
            kept.return_value.write.assert_not_called()
            channel.connectionLost(Failure(ConnectionDone()))

    def test_chunked(self) -> None:
        """A chunked body is read like any other."""
        body = b'5\r\n{"val\r\n6\r\nue":1}\r\n0\r\n\r\n'
        answer = self.raw_call(body, ("Transfer-Encoding", "chunked"))
        self.assertEqual(answer.json, {"value": 1})


class BrokenTests(RequestCase):
    """Tests for defects of our own."""

    def test_internal(self) -> None:
        """A bug is answered in the one form, without detail, and is logged."""

        def broken() -> bytes:
            raise ZeroDivisionError(SECRET)

        self.stack.site._routes.health = broken
        answer = self.stack.ask("GET", "/v1/health")
        self.assertRefused(answer, 500, "internal")
        self.assertNotIn(SECRET.encode(), answer.body)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
