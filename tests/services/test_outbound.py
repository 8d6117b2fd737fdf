"""Tests for bridge.services.outbound: requests, how many at once, and the end."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet import reactor
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.task import deferLater
from twisted.trial.unittest import SynchronousTestCase

from bridge.http.target import CheckedRequest, read_url
from bridge.protocol import limits
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.strictjson import dumps
from bridge.rpc import Caller, HttpCaller, Registry
from bridge.services.outbound import METHODS, FetchParams, make_request, seconds_of
from bridge.web.websocket import sendqueue
from bridge.web.websocket.sendqueue import SendQueue

from ..http.servers import HERE, OutboundCase, sending
from ..pages import Page, SlowPage
from ..waiting import until


class OutboundTests(OutboundCase):
    def message(self, params: Any) -> str:
        """Call what is refused without anything being sent."""
        error = self.failureResultOf(self.calling(params), BridgeError).value
        self.assertEqual(error.code, Code.BAD_REQUEST)
        return error.message

    def test_describe(self) -> None:
        """The description has what a page reads of it."""
        registry = Registry()
        registry.register("outbound", self.service())
        described = registry.describe()["outbound"]
        self.assertEqual(described.pop("methods"), ["fetch"])
        self.assertTrue(described.pop("summary"))
        self.assertTrue(described.pop("redirects").startswith("not followed"))
        self.assertIn("cross-origin", described.pop("reach"))
        self.assertEqual(
            described,
            {
                "requestMethods": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
                "maxRequestBytes": 1048576,
                "maxResponseBytes": 16777216,
                "maxHeaders": 32,
                "defaultTimeoutMs": 30000,
                "maxTimeoutMs": 120000,
                "bodies": "text",
            },
        )

    def test_order(self) -> None:
        """Shape, URL, address, method, and then the rest."""
        bad: dict[str, Any] = {"method": "X", "headers": {"host": "x"}}
        self.assertIn("a string", self.message({**bad, "url": "x", "body": 1}))
        self.assertIn("url: must", self.message({**bad, "url": "x"}))
        local = self.message({**bad, "url": "http://127.0.0.1/"})
        self.assertIn("not a public address", local)
        self.assertIn("method: ", self.message({**bad, "url": "http://1.1.1.1/"}))
        bad["method"] = "get"
        self.assertIn("headers: ", self.message({**bad, "url": "http://1.1.1.1/"}))


STOPPING = (Code.UNAVAILABLE, "the daemon is shutting down")


class AtOnceTests(OutboundCase):
    def setUp(self):
        """Have three at once, so two of a caller, of a server that waits."""
        super().setUp()
        self.patch(limits, "OUTBOUND_AT_ONCE", 3)
        port = self.serve(lambda visit: None)
        self.fetching = self.service()
        self.wanted = {"url": f"http://{HERE}:{port}/"}

    def ask(self, caller: Caller, **more: object) -> Deferred[Any]:
        return self.calling({**self.wanted, **more}, self.fetching, caller)

    async def visited(self, times: int) -> None:
        """Wait until the server was asked so often."""
        await until(lambda: len(self.server.visits) >= times)

    async def assert_unavailable(self, asked: Deferred[object], words: str) -> None:
        error = await self.assertFailure(asked, BridgeError)
        self.assertEqual(error.code, Code.UNAVAILABLE)
        self.assertIn(words, error.message)

    async def test_attack_many_fetches(self):
        """So many of a caller run and wait, and of all; the others come in turn."""
        shares = self.fetching._shares
        shares.waiting, shares.waiting_each = 3, 2
        one, other = HttpCaller(), HttpCaller()
        held = [self.ask(one) for _ in range(4)]
        await self.assert_unavailable(self.ask(one), "too many fetches wait")
        held += [self.ask(other) for _ in range(2)]
        await self.assert_unavailable(self.ask(other), "too many fetches wait")
        for answered in range(6):
            await self.visited(answered + 1)
            self.assertLessEqual(len(shares._taken), 3)
            self.server.visits[answered].ok(b"x")
        done = await DeferredList(held)
        self.assertTrue(all(ok for ok, _ in done))
        self.assertEqual((shares._queue, shares._taken), ([], []))

    async def test_waits_within_its_time(self):
        """The time of a fetch begins with the call, and its place is free again."""
        one = HttpCaller()
        held = [self.ask(one) for _ in range(2)]
        late = [self.ask(one, timeoutMs=50) for _ in range(2)]
        first, second = [await self.assertFailure(each, BridgeError) for each in late]
        self.assertIn("within timeoutMs", first.message)
        # One error for all would keep the frames of each, with what they hold.
        self.assertIsNot(first, second)
        self.assertEqual(self.fetching._shares._queue, [])
        again = self.ask(one)
        await self.visited(2)
        self.server.visits[0].ok(b"x")
        await self.visited(3)
        await self.fetching.close()
        ended = await DeferredList([*held, again], consumeErrors=True)
        self.assertEqual([ok for ok, _ in ended].count(True), 1)

    async def test_responses_that_come_together(self):
        """A page that reads is sent one after the other, and never as a slow one."""
        self.patch(sendqueue, "UNSENT_BYTES", limits.MIB)
        sent: list[bytes] = []

        def send(piece: bytes, first: bool, last: bool) -> None:
            sent.append(piece)
            queue.pauseProducing()

        queue = SendQueue(send, self.fail)
        queue.pauseProducing()
        page = Page()
        self.patch(page, "drained", queue.drained)
        held = [self.ask(page) for _ in range(2)]
        for asked in held:
            asked.addCallback(lambda answer: queue.put(dumps(answer)))
        await self.visited(2)
        for visit in self.server.visits:
            visit.ok(b"x" * 600 * limits.KIB)
        await until(lambda: len(queue._drained) == 2)
        self.assertEqual(len(self.fetching._shares._taken), 2)
        for _ in range(6):
            queue.resumeProducing()
        self.assertEqual(len(sent), 6)
        self.assertEqual(self.fetching._shares._taken, [])

    async def test_page_that_does_not_read(self):
        """Its places are taken until its fetches' time is over, or the daemon ends."""
        page = SlowPage()
        for times, milliseconds in ((1, 500), (2, 30_000)):
            late = self.ask(page, timeoutMs=milliseconds)
            await self.visited(times)
            self.server.visits[-1].ok(b"x")
            await until(lambda: len(page.waiting) == times)  # noqa: B023
            self.assertNoResult(late)
            if times == 2:
                await self.fetching.close()
            self.assertEqual((await late)["body"], "x")
            self.assertEqual(self.fetching._shares._taken, [])

    async def test_attack_fetches_of_a_page_that_has_gone(self):
        """Those that only read end with it, and so do those that have not begun."""
        self.fetching._shares.places, page = 5, Page()
        methods = ("HEAD", "GET", "POST", "GET", "POST")
        head, get, begun, *waits = [self.ask(page, method=one) for one in methods]
        await self.visited(3)
        page.go()
        for asked in (head, get, *waits):
            await self.assert_unavailable(asked, "who asked for this has gone")
        other = [self.ask(Page()) for _ in range(4)]
        await self.visited(7)
        self.assertNoResult(begun)
        for visit in self.server.visits:
            visit.ok(b"x")
        self.assertEqual((await begun)["body"], "x")
        await DeferredList(other)


class EndTests(OutboundCase):
    """Tests for the end of the daemon; trial checks that nothing is left."""

    async def assert_ends(self, held: Deferred[object], fetching) -> None:
        """Close a fetcher, and check how a fetch ends."""
        await fetching.close()
        for asked in (held, self.calling({"url": "http://1.1.1.1/"}, fetching)):
            error = await self.assertFailure(asked, BridgeError)
            self.assertEqual((error.code, error.message), STOPPING)

    async def test_at_every_step(self):
        """A fetch is ended while it looks up, connects, waits for a head, and reads."""
        hanging: Deferred[list[str]] = Deferred()
        fetching = self.service(lambda host: hanging)
        await self.assert_ends(
            self.calling({"url": "http://a.net/"}, fetching), fetching
        )
        self.allowed.add(("192.0.2.1", 81))
        fetching = self.service()
        held = self.calling({"url": "http://192.0.2.1:81/"}, fetching)
        await self.assert_ends(held, fetching)
        for start in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"):
            port = self.serve(sending(start))
            fetching = self.service()
            held = self.calling({"url": f"http://{HERE}:{port}/"}, fetching)
            await until(lambda: any(visit.answered for visit in self.server.visits))
            await deferLater(reactor, 0.05)
            await self.assert_ends(held, fetching)


TARGET = read_url("http://good.net/")
CONNECTION = """
Host content-length CONNECTION Keep-Alive te Trailer transfer-encoding Upgrade expect
Proxy-Authorization proxy-connection Proxy-Anything
"""


def made(method="GET", headers=None, body=""):
    """Make a request, or give the message of the refusal."""
    try:
        return make_request(TARGET, FetchParams("", method, headers or {}, body))
    except BridgeError as error:
        assert error.code is Code.BAD_REQUEST
        return error.message


class RequestTests(SynchronousTestCase):
    def test_time(self) -> None:
        """The time has a default, and is brought into its bounds."""
        for given_, seconds in ((None, 30), (0, 0.001), (-9, 0.001), (10**20, 120)):
            params = FetchParams("", timeout_ms=given_)
            self.assertEqual(seconds_of(params), seconds)

    def test_attack_methods(self) -> None:
        """No other: not to a proxy, not to trace, nothing that breaks the line."""
        for bad in ("TRACE", "CONNECT", "OPTIONS", "", "GET ", "GET\r\nX: y", "ＧＥＴ"):  # noqa: RUF001
            message = made(bad)
            self.assertEqual(message, f"method: must be one of {', '.join(METHODS)}")

    def test_body(self) -> None:
        """At most 1 MiB in UTF-8."""
        self.assertIsInstance(made("POST", body="é" * 524288), CheckedRequest)
        self.assertEqual(
            made("POST", body="é" * 524288 + "x"),
            "body: at most 1048576 bytes in UTF-8",
        )

    def test_attack_connection_headers(self) -> None:
        """Headers of the connection, of proxies, in any case."""
        for name in CONNECTION.split():
            message = made(headers={name: "x"})
            self.assertEqual(
                message, "headers: headers of the connection cannot be set"
            )

    def test_attack_header_injection(self) -> None:
        """Nothing that would end a line, in a name or in a value."""
        for name in ("", "a b", "a:", "a\r\nb", "é", "a\0", " a"):
            message = made(headers={name: "x"})
            self.assertEqual(message, "headers: a name is not a token of HTTP", name)
        for value in ("a\r\nb: c", "a\nb", "a\rb", "\0", "\t", "\x7f", "€"):
            message = made(headers={"a": value})
            self.assertIn("a value has characters", str(message))

    def test_sizes(self) -> None:
        """At most 32 headers, of 64 KiB in all."""
        many = {f"a{number}": "" for number in range(33)}
        self.assertEqual(made(headers=many), "headers: at most 32")
        many.popitem()
        self.assertIsInstance(made(headers=many), CheckedRequest)
        self.assertIsInstance(made(headers={"a": "x" * 65535}), CheckedRequest)
        self.assertIn("at most 65536", str(made(headers={"a": "x" * 65536})))

    @given(
        st.dictionaries(
            st.one_of(st.text(max_size=8), st.from_regex(r"[A-Za-z-]{1,20}")),
            st.text(max_size=8),
            max_size=4,
        )
    )
    def test_any_headers(self, headers: dict[str, str]) -> None:
        """What is let through can be written as lines, and none is the connection's."""
        request = made(headers=headers)
        if not isinstance(request, CheckedRequest):
            self.assertTrue(request.startswith("headers: "))
            return
        for name, value in request.headers:
            line = f"{name}: {value}".encode("latin-1")
            self.assertIsNotNone(re.fullmatch(rb"[!-~]+: [^\x00-\x1f\x7f]*", line))
            self.assertNotIn(name.lower(), ("host", "content-length", "connection"))
        names = [name.lower() for name, _ in request.headers]
        for name in ("accept", "accept-encoding", "user-agent"):
            self.assertIn(name, names)
