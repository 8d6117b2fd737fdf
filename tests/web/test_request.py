"""Tests for bridge.web.request: the validation of every request."""

from unittest import mock

from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from ..strategies import SECRET
from .stack import BEARER, JSON, PAGE, Answer, Stack, write_request
from .test_requestscontract import ALWAYS


class RequestCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.stack = Stack()

    def assertRefused(self, answer: Answer, status: int, code: str) -> None:
        """Expect a refusal in the one form there is."""
        self.assertEqual((answer.status, answer.code), (status, code))
        self.assertEqual(set(answer.json), {"ok", "error"})
        self.assertIs(answer.json["ok"], False)
        for name, value in ALWAYS.items():
            self.assertEqual(answer.headers[name], value)


class RateTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.stack = Stack(rate=0.5, burst=3)

    def test_everything_draws(self) -> None:
        """Health, preflights, calls and 404s draw from one bucket for each origin."""
        for _ in range(3):
            self.stack.ask("GET", "/v1/health")
            self.stack.ask("GET", "http://evil.example/v1/health", PAGE)
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
        self.assertEqual(answer.headers["access-control-allow-origin"], PAGE[1])

    def test_attack_failed_hellos_of_a_page(self) -> None:
        """A wrong token costs who has sent it, page or program; a page is let in."""
        for _ in range(3):
            self.stack.open(PAGE).hello("wrong")
        self.assertEqual(self.stack.ask("GET", "/v1/health", PAGE).status, 429)
        # The handshake of a program costs a token, too.
        self.stack.open().hello("wrong")
        self.assertEqual(self.stack.ask("GET", "/v1/health").status, 200)
        self.assertEqual(self.stack.ask("GET", "/v1/health").status, 429)
        self.assertIsNone(self.stack.open(PAGE).hello().closed)


class RequestTests(RequestCase):
    """Tests for what is not read, not kept and not repeated, and for our defects."""

    def test_nothing_is_kept_of_what_is_refused(self) -> None:
        """Of a body that will not be read nothing is kept: it costs no memory."""
        path = "/v1/sample/echo"
        for headers in ((JSON,), (BEARER,), (BEARER, JSON, ("Origin", "null"))):
            channel, _ = self.stack.connect()
            length = ("Content-Length", "1000000")
            head = write_request("POST", path, (*headers, length))
            with mock.patch("bridge.web.request.BytesIO") as kept:
                channel.dataReceived(head + b"x" * 1000)
                channel.dataReceived(b"x" * 1000)
            kept.return_value.write.assert_not_called()
            channel.connectionLost(Failure(ConnectionDone()))

    def test_internal(self) -> None:
        """A bug is answered in the one form, without detail, and is logged."""
        broken = mock.Mock(side_effect=ZeroDivisionError(SECRET))
        self.patch(self.stack.registry, "names", broken)
        answer = self.stack.ask("GET", "/v1/health")
        self.assertRefused(answer, 500, "internal")
        self.assertNotIn(SECRET.encode(), answer.body)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
