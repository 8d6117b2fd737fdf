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
from .stack import BEARER, JSON, TOKEN, Anything, Stack, write_request


class AlwaysTests(SynchronousTestCase):
    """Tests for a daemon without ``--dev``."""

    def setUp(self) -> None:
        """Build it."""
        self.stack = Stack(dev=False)

    def test_health(self) -> None:
        """The probe answers without a token: alive, version, services."""
        answer = self.stack.ask("GET", "/v1/health")
        self.assertEqual(answer.status, 200)
        self.assertEqual(
            answer.json,
            {
                "ok": True,
                "version": "1.2.3",
                "protocol": PROTOCOL,
                "services": ["kettle"],
            },
        )

    def test_probe_as_the_page_sends_it(self) -> None:
        """A GET with a content type and a query is a probe all the same."""
        answer = self.stack.ask("GET", "/v1/health?x=1", JSON)
        self.assertEqual(answer.status, 200)

    def test_everything_else_names_the_flag(self) -> None:
        """Any other path is 404 and names ``--dev``, whatever the method."""
        for path in (
            "/",
            "*",
            "/v1",
            "/v1/",
            "/v1/describe",
            "/v1/health/",
            "/v1/health/x",
            "/v1//health",
            "/v1/ws/",
            "/v1/kettle/echo",
            "/v1/kettle/nothing",
            "/v1/nothing/echo",
            "/v1/kettle/echo/",
            "/v1/%ff",
            "/v1/%ff/%fe",
            "/V1/HEALTH",
            "/v2/health",
            "/index.html",
            "/../v1/health",
            "http://127.0.0.1:42081/v1/describe",
        ):
            for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "FOO", "TRACE"):
                answer = self.stack.ask(method, path, BEARER, JSON, body=b"{}")
                self.assertEqual(
                    (answer.status, answer.code), (404, "not_found"), (method, path)
                )
                self.assertIn("--dev", answer.json["error"]["message"])
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_other_methods_of_the_two_paths(self) -> None:
        """The two paths that are always there name the method they accept."""
        for path in ("/v1/health", "/v1/ws"):
            for method in ("POST", "PUT", "DELETE", "FOO"):
                answer = self.stack.ask(method, path, body=b"")
                self.assertEqual(
                    (answer.status, answer.code), (405, "method_not_allowed")
                )
                self.assertEqual(answer.headers["allow"], "GET, HEAD")

    def test_token_makes_no_difference(self) -> None:
        """Whether the token is right can't be learned without ``--dev``."""
        right = self.stack.ask("GET", "/v1/describe", BEARER)
        wrong = self.stack.ask("GET", "/v1/describe", ("Authorization", "Bearer x"))
        self.assertEqual(right, wrong)


class DevTests(SynchronousTestCase):
    """Tests for a daemon with ``--dev``."""

    def setUp(self) -> None:
        """Build it."""
        self.stack = Stack()

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

    def test_result_is_bare(self) -> None:
        """A result is the body; so is ``null`` inside it."""
        answer = self.stack.call("echo", body=b'{"value":[1,null]}')
        self.assertEqual((answer.status, answer.json), (200, {"value": [1, None]}))

    def test_empty_body(self) -> None:
        """No body, and a blank one, are no params."""
        for body in (b"", b" \r\n"):
            self.assertEqual(self.stack.call("echo", body=body).json, {})
        answer = self.stack.ask("POST", "/v1/kettle/echo", BEARER, JSON)
        self.assertEqual(answer.status, 200)

    def test_refusals_have_their_status(self) -> None:
        """A refusal of a service is answered with its code's status."""
        answer = self.stack.call("refuse")
        self.assertEqual(answer.status, 503)
        self.assertEqual(
            answer.json,
            {"ok": False, "error": {"code": "unavailable", "message": "no water"}},
        )

    def test_unknown(self) -> None:
        """Unknown services and methods are distinguished, once the token is right."""
        for path, code in (
            ("/v1/nothing/echo", "unknown_service"),
            ("/v1/kettle/nothing", "unknown_method"),
        ):
            answer = self.stack.ask("POST", path, BEARER, JSON, body=b"{}")
            self.assertEqual((answer.status, answer.code), (404, code))
            answer = self.stack.ask("POST", path, JSON, body=b"{}")
            self.assertEqual(answer.status, 401)

    def test_impossible_names(self) -> None:
        """A name that breaks the rule is no path, token or not."""
        for path in (
            "/v1/Kettle/echo",
            "/v1/kettle/" + "a" * 65,
            "/v1/kettle/..",
            "/v1/kettle/%0a",
            "/v1/kettle/e%63ho%00",
            "/v1/%ff/echo",
        ):
            answer = self.stack.ask("POST", path, BEARER, JSON, body=b"{}")
            self.assertEqual((answer.status, answer.code), (404, "not_found"), path)
            self.assertNotIn("--dev", answer.json["error"]["message"])

    def test_percent_encoding(self) -> None:
        """A path is decoded before its names are checked."""
        answer = self.stack.ask("POST", "/v1/kettle/e%63ho", BEARER, JSON, body=b"{}")
        self.assertEqual(answer.status, 200)

    def test_wrong_methods(self) -> None:
        """A known path with another method is 405 and names the one it accepts."""
        for method, path, allow in (
            ("POST", "/v1/describe", "GET, HEAD"),
            ("GET", "/v1/kettle/echo", "POST"),
            ("DELETE", "/v1/health", "GET, HEAD"),
        ):
            answer = self.stack.ask(method, path, BEARER, JSON, body=b"{}")
            self.assertEqual((answer.status, answer.code), (405, "method_not_allowed"))
            self.assertEqual(answer.headers["allow"], allow)

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

    def test_order_of_refusals(self) -> None:
        """Token before type, type before size, size before UTF-8, that before JSON."""
        text = ("Content-Type", "text/plain")
        big = b"\xff" * (8 * 2**20 + 1)
        path = "/v1/kettle/echo"
        for headers, body, status in (
            ((text,), big, 401),
            ((BEARER, text), big, 415),
            ((BEARER,), b"{}", 415),
            ((BEARER, JSON), big, 413),
            ((BEARER, JSON), b"\xff", 400),
            ((BEARER, JSON), b"{", 400),
        ):
            answer = self.stack.ask("POST", path, *headers, body=body)
            self.assertEqual(answer.status, status)

    def test_bodies(self) -> None:
        """What is no UTF-8, no JSON or no object is refused as such."""
        for body, code in (
            (b"\xff\xfe", "malformed_body"),
            (b'{"value":"\xed\xa0\x80"}', "malformed_body"),
            (b"{", "bad_request"),
            (b'{"value":NaN}', "bad_request"),
            (b'{"value":1e999}', "bad_request"),
            (b'{"value":"\\ud800"}', "bad_request"),
            (b"[]", "bad_request"),
            (b'"text"', "bad_request"),
            (b"null", "bad_request"),
            (b'{"value":%s}' % nested(JSON_DEPTH), "bad_request"),
        ):
            answer = self.stack.call("echo", body=body)
            self.assertEqual((answer.status, answer.code), (400, code), body[:30])
        deep = b'{"value":%s}' % nested(JSON_DEPTH - 1)
        self.assertEqual(self.stack.call("echo", body=deep).status, 200)

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
