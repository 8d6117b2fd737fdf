import json

from twisted.internet.error import ConnectionLost
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.frames import PROTOCOL
from bridge.protocol.limits import JSON_DEPTH
from bridge.schemas import PROTOCOL_FILE, read_schema

from ..programs import python
from ..strategies import SECRET, nested
from .stack import BEARER, TOKEN, WAIT, Anything, Stack


class AnswerTests(SynchronousTestCase):
    def setUp(self) -> None:
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

    def test_params(self) -> None:
        """A call without a body, or with a blank one, has no params; others nest."""
        for body in (b"", b" \r\n"):
            self.assertEqual(self.stack.call("echo", body=body).json, {})
        deep = b'{"value":%s}' % nested(JSON_DEPTH - 1)
        self.assertEqual(self.stack.call("echo", body=deep).body, deep)

    def test_bug(self) -> None:
        """A bug of a service, and a result no JSON can hold, are ``internal``."""
        for name, kind in (("leak", ZeroDivisionError), ("surrogate", TypeError)):
            answer = self.stack.call(name)
            self.assertEqual((answer.status, answer.code), (500, "internal"))
            self.assertNotIn(SECRET.encode(), answer.body)
            self.assertEqual(len(self.flushLoggedErrors(kind)), 1)


class DisconnectTests(SynchronousTestCase):
    def test_call_goes_on(self) -> None:
        """Who goes cancels nothing: what was begun ends, and only a bug is logged."""
        for ends, logged in (
            (lambda waiting: waiting.callback(Anything(1)), 0),
            (lambda waiting: waiting.errback(BridgeError(Code.UNAVAILABLE, "no")), 0),
            (lambda waiting: waiting.errback(ZeroDivisionError()), 1),
        ):
            stack = Stack()
            channel, transport = stack.connect()
            channel.dataReceived(WAIT)
            self.assertEqual(transport.value(), b"")
            channel.connectionLost(Failure(ConnectionLost()))
            (waiting,) = stack.sample.waiting
            ends(waiting)
            self.assertEqual(stack.sample.cancelled, 0)
            self.assertEqual(transport.value(), b"")
            self.assertEqual(len(self.flushLoggedErrors()), logged)


class RenderTests(SynchronousTestCase):
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
        done = python("-c", code)
        self.assertEqual(done.stdout.strip(), "[]", done.stderr)
