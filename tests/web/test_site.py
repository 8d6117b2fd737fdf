"""Tests for bridge.web.site."""

from __future__ import annotations

import json
import subprocess
import sys
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from klein.resource import KleinResource
from twisted.internet.error import ConnectionLost
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import JSON_DEPTH
from bridge.protocol.version import PROTOCOL
from bridge.schemas import PROTOCOL_FILE, read_schema

from ..strategies import SECRET, nested
from .stack import (
    BEARER,
    HOST,
    JSON,
    TOKEN,
    Answer,
    Anything,
    Header,
    Stack,
    write_request,
)

GOOD = (BEARER, JSON)
OTHER = ("GET", "POST", "PUT", "DELETE", "PATCH", "FOO", "TRACE")
LARGE = b"\xff" * (8 * 2**20 + 1)
ECHO = "/v1/kettle/echo"
NOWHERE = (
    *("/", "*", "/v1", "/v1/", "/V1/HEALTH", "/v2/health", "/index.html"),
    *("/v1/health/", "/v1//health", "/../v1/health", "/v1/ws/"),
    *("/v1/%ff", "/v1/%ff/%fe", "/v1/kettle/echo/"),
)
"""Paths that are nowhere, whatever the daemon's options."""

Asked = tuple[str, str, tuple[Header, ...], bytes | None]

PLAIN: tuple[tuple[Asked, tuple[int, str]], ...] = (
    (("GET", "/v1/health", (), None), (200, "")),
    (("GET", "/v1/health?x=1", (JSON,), None), (200, "")),
    (("HEAD", "/v1/health", (), None), (200, "")),
    *(
        ((method, path, GOOD, b"{}"), (404, "not_found"))
        for method in OTHER
        for path in (
            *(*NOWHERE, "/v1/health/x", "/v1/describe", ECHO, "/v1/kettle/nothing"),
            *("/v1/nothing/echo", f"http://{HOST}/v1/describe"),
        )
    ),
    *(
        ((method, path, (), b""), (405, "method_not_allowed"))
        for method in ("POST", "PUT", "DELETE", "FOO")
        for path in ("/v1/health", "/v1/ws")
    ),
    (("GET", "/v1/ws", (), None), (400, "bad_request")),
    (("HEAD", "/v1/ws", (), None), (400, "bad_request")),
)
"""What is asked of a daemon without ``--dev``, and its status and code."""

DEV: tuple[tuple[Asked, tuple[int, str]], ...] = (
    (("GET", "/v1/health", (), None), (200, "")),
    (("GET", "/v1/describe", (BEARER,), None), (200, "")),
    (("POST", ECHO, GOOD, b'{"value":[1,null]}'), (200, "")),
    (("POST", ECHO, GOOD, b""), (200, "")),
    (("POST", ECHO, GOOD, b" \r\n"), (200, "")),
    (("POST", ECHO, GOOD, None), (200, "")),
    # A path is decoded before its names are checked, each by itself.
    (("POST", "/v1/kettle/e%63ho", GOOD, b"{}"), (200, "")),
    (("POST", ECHO, GOOD, b'{"value":%s}' % nested(JSON_DEPTH - 1)), (200, "")),
    (("POST", "/v1/kettle/refuse", GOOD, b"{}"), (503, "unavailable")),
    (("POST", "/v1/nothing/echo", GOOD, b"{}"), (404, "unknown_service")),
    (("POST", "/v1/kettle/nothing", GOOD, b"{}"), (404, "unknown_method")),
    *(
        (("POST", path, GOOD, b"{}"), (404, "not_found"))
        for path in (
            *(*NOWHERE, "/v1/Kettle/echo", "/v1/kettle/" + "a" * 65, "/v1/kettle/.."),
            *("/v1/kettle/%0a", "/v1/kettle/e%63ho%00", "/v1/%ff/echo"),
            "/v1/kettle%2fecho",
        )
    ),
    (("POST", "/v1/describe", GOOD, b"{}"), (405, "method_not_allowed")),
    (("GET", ECHO, GOOD, None), (405, "method_not_allowed")),
    (("DELETE", "/v1/health", GOOD, b"{}"), (405, "method_not_allowed")),
    # Token before type, type before size, size before UTF-8, that before JSON.
    (("POST", "/v1/nothing/echo", (JSON,), b"{}"), (401, "unauthorized")),
    (("POST", ECHO, (("Content-Type", "text/plain"),), LARGE), (401, "unauthorized")),
    (
        ("POST", ECHO, (BEARER, ("Content-Type", "text/plain")), LARGE),
        (415, "unsupported_media_type"),
    ),
    (("POST", ECHO, (BEARER,), b"{}"), (415, "unsupported_media_type")),
    (("POST", ECHO, GOOD, LARGE), (413, "payload_too_large")),
    (("POST", ECHO, GOOD, b"\xff"), (400, "malformed_body")),
    (("POST", ECHO, GOOD, b'{"value":"\xed\xa0\x80"}'), (400, "malformed_body")),
    *(
        (("POST", ECHO, GOOD, body), (400, "bad_request"))
        for body in (
            *(b"{", b'{"value":NaN}', b'{"value":1e999}', b'{"value":"\\ud800"}'),
            *(b"[]", b'"text"', b"null", b'{"value":%s}' % nested(JSON_DEPTH)),
        )
    ),
)
"""The same, of one with ``--dev``."""

ALLOWED = {ECHO: "POST"}
"""The header ``Allow`` of a path, where it is not that of reads."""


class StatusTests(SynchronousTestCase):
    """Tests for each request's status and code."""

    def check(self, stack: Stack, asked: Asked, expected: tuple[int, str]) -> Answer:
        """Ask; return the answer."""
        method, path, headers, body = asked
        answer = stack.ask(method, path, *headers, body=body)
        status, code = expected
        self.assertEqual(answer.status, status, asked[:2])
        if code and method != "HEAD":
            self.assertEqual(answer.code, code, asked[:2])
        if status == 405:
            allowed = ALLOWED.get(path, "GET, HEAD")
            self.assertEqual(answer.headers["allow"], allowed)
        return answer

    def test_plain(self) -> None:
        """Without ``--dev`` there are two paths; any other names the option."""
        stack = Stack(dev=False)
        for asked, expected in PLAIN:
            answer = self.check(stack, asked, expected)
            if expected[0] == 404:
                self.assertIn("--dev", answer.json["error"]["message"])
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_dev(self) -> None:
        """With it there are calls, for who has the token."""
        stack = Stack()
        for asked, expected in DEV:
            answer = self.check(stack, asked, expected)
            if expected[0] == 404:
                self.assertNotIn(b"--dev", answer.body)


class AnswerTests(SynchronousTestCase):
    """Tests for what is in the answers."""

    def setUp(self) -> None:
        """Build a daemon with ``--dev``."""
        self.stack = Stack()

    def test_health(self) -> None:
        """The probe answers without a token: alive, version, services."""
        self.assertEqual(
            Stack(dev=False).ask("GET", "/v1/health").json,
            {
                "ok": True,
                "version": "1.2.3",
                "protocol": PROTOCOL,
                "services": ["kettle"],
            },
        )

    def test_token_makes_no_difference(self) -> None:
        """Whether the token is right can't be learned without ``--dev``."""
        stack = Stack(dev=False)
        right = stack.ask("GET", "/v1/describe", BEARER)
        wrong = stack.ask("GET", "/v1/describe", ("Authorization", "Bearer x"))
        self.assertEqual(right, wrong)

    def test_describe(self) -> None:
        """It describes what a welcome does, the socket's path, and the protocol."""
        answer = self.stack.ask("GET", "/v1/describe", BEARER)
        page = self.stack.open()
        page.send({"type": "hello", "token": TOKEN, "client": "c"})
        (welcome,) = page.take()
        self.assertEqual(
            answer.json,
            {
                "version": "1.2.3",
                "protocol": PROTOCOL,
                "socket": "/v1/ws",
                "services": welcome["services"],
                "description": json.loads(read_schema(PROTOCOL_FILE)),
            },
        )

    def test_bare_and_refused(self) -> None:
        """A result is the body; a refusal has its code and message."""
        answer = self.stack.call("echo", body=b'{"value":[1,null]}')
        self.assertEqual(answer.json, {"value": [1, None]})
        self.assertEqual(
            self.stack.call("refuse").json,
            {"ok": False, "error": {"code": "unavailable", "message": "no water"}},
        )

    def test_unauthorized(self) -> None:
        """Without the right token a call and describe are 401, and name the scheme."""
        realm, wrong = 'Bearer realm="plugin-bridge"', ', error="invalid_token"'
        for headers, challenge in (
            ((), realm),
            ((("Authorization", "Bearer wrong"),), realm + wrong),
            ((("Authorization", "Bearer"),), realm),
            ((("Authorization", "Basic " + TOKEN),), realm),
            ((("Authorization", TOKEN),), realm),
        ):
            for method, path in (("GET", "/v1/describe"), ("POST", "/v1/kettle/note")):
                answer = self.stack.ask(method, path, *headers, JSON, body=b"{}")
                self.assertEqual((answer.status, answer.code), (401, "unauthorized"))
                self.assertEqual(answer.headers["www-authenticate"], challenge)
        self.assertEqual(self.stack.kettle.heard, [])

    def test_bug(self) -> None:
        """A bug of a service, and a result no JSON can hold, are ``internal``."""
        for name, kind in (("leak", ZeroDivisionError), ("surrogate", TypeError)):
            answer = self.stack.call(name)
            self.assertEqual((answer.status, answer.code), (500, "internal"))
            self.assertNotIn(SECRET.encode(), answer.body)
            self.assertEqual(len(self.flushLoggedErrors(kind)), 1)

    @given(st.binary(max_size=40))
    @settings(deadline=None)
    def test_never_echoes(self, body: bytes) -> None:
        """Whatever the body is, no refusal repeats it."""
        answer = self.stack.call("note", body=body + SECRET.encode())
        self.assertIn(answer.status, (400, 404))
        self.assertNotIn(SECRET.encode(), answer.body)
        self.stack.clock.advance(1)


class DisconnectTests(SynchronousTestCase):
    """Tests for REST clients that go away."""

    def setUp(self) -> None:
        """Begin a call that waits."""
        self.stack = Stack()
        channel, self.transport = self.stack.connect()
        channel.dataReceived(
            write_request("POST", "/v1/kettle/wait", (BEARER, JSON), b"{}")
        )
        (self.waiting,) = self.stack.kettle.waiting
        self.assertEqual(self.transport.value(), b"")
        self.channel = channel

    def test_answered(self) -> None:
        """Who stays is answered when the call is done."""
        self.waiting.callback(Anything(1))
        self.assertIn(b'{"value":1}', self.transport.value())

    def test_call_goes_on(self) -> None:
        """Who goes cancels nothing: what was begun is finished."""
        self.channel.connectionLost(Failure(ConnectionLost()))
        self.assertEqual(self.stack.kettle.cancelled, 0)
        self.waiting.callback(Anything(1))
        self.assertEqual(self.transport.value(), b"")
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_call_fails_later(self) -> None:
        """A bug that shows after the client has gone is logged, once."""
        self.channel.connectionLost(Failure(ConnectionLost()))
        self.waiting.errback(ZeroDivisionError())
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertEqual(self.flushLoggedErrors(), [])


class RenderTests(SynchronousTestCase):
    """Tests for what Klein does here, and what it can't."""

    def test_klein_renders(self) -> None:
        """Klein renders calls; liveness and the guard's refusals need no Klein."""
        stack, render = Stack(), KleinResource.render
        with mock.patch.object(KleinResource, "render", autospec=True) as rendered:
            rendered.side_effect = render
            without = [
                stack.ask("GET", "/v1/health").status,
                stack.ask("HEAD", "/v1/health").status,
                stack.ask("GET", "/v1/describe").status,
                stack.ask("POST", "/v1/kettle/echo", JSON, body=b"{}").status,
                stack.ask("GET", "/nothing").status,
                stack.ask("PUT", "/v1/health").status,
            ]
            self.assertEqual(rendered.call_count, 0)
            by_klein = [
                stack.call("refuse").status,
                stack.ask("GET", "/v1/describe", BEARER).status,
            ]
        self.assertEqual(without, [200, 200, 401, 401, 404, 405])
        self.assertEqual(by_klein, [503, 200])
        self.assertEqual(rendered.call_count, 2)

    def test_attack_unknown_paths_load_nothing(self) -> None:
        """What any program may ask for does not have the daemon load Klein."""
        code = """
import sys
from tests.web.stack import Stack
for dev in (False, True):
    stack = Stack(dev=dev)
    for method in "GET", "HEAD", "POST", "PUT", "OPTIONS", "FOO":
        for path in "/", "/v1/health", "/v1/ws", "/v1/describe", "/v1/a/b", "//v1/a/b":
            assert stack.ask(method, path, body=b"").status < 500
print([name for name in sys.modules if name.startswith(("klein", "werkzeug"))])
"""
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        self.assertEqual(ran.stdout.strip(), "[]")

    def test_attack_paths_that_klein_reads_otherwise(self) -> None:
        """What the guard has refused calls nothing, though Klein finds a route."""
        stack = Stack()
        for method, path in (
            ("POST", "//v1/kettle/note"),
            ("post", "/v1/kettle/note"),
            ("POST", "v1/kettle/note"),
        ):
            answer = stack.ask(method, path, BEARER, JSON, body=b'{"text":"x"}')
            self.assertIn(answer.status, (404, 405))
        answer = stack.ask("POST", "/v1/kettle/note", JSON, body=b'{"text":"x"}')
        self.assertEqual(answer.status, 401)
        upgrade = (("Upgrade", "websocket"), ("Connection", "Upgrade"))
        self.assertEqual(stack.ask("GET", "//v1/ws", *upgrade).status, 404)
        self.assertEqual(stack.kettle.heard, [])

    def test_gone_before_a_refusal(self) -> None:
        """A call that fails when its client is gone is no defect."""
        stack = Stack()
        request = write_request("POST", "/v1/kettle/wait", (BEARER, JSON), b"{}")
        stack.raw(request)
        (waiting,) = stack.kettle.waiting
        waiting.errback(BridgeError(Code.UNAVAILABLE, "too late"))
        self.assertEqual(stack.kettle.cancelled, 0)
        self.assertEqual(self.flushLoggedErrors(), [])
