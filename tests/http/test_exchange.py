"""Tests for bridge.http.exchange; hostile servers are in ``test_hostile``."""

import gzip
import os
import zlib
from typing import Any
from unittest import mock

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web._newclient import Request
from twisted.web.http_headers import Headers

from bridge.http.exchange import Connections, Guarded
from bridge.http.target import CheckedRequest, read_url
from bridge.protocol.errors import Code
from bridge.protocol.limits import OUTBOUND_INTERIM_HEADS

from ..waiting import expect_freed
from .servers import HERE, OutboundCase, responding, sending


class RequestTests(OutboundCase):
    async def received(self, **params):
        """Fetch, and give the lines of the head that was sent, and the body."""
        await self.fetched(responding(b""), **params)
        head, body = self.server.visits[0].received.split(b"\r\n\r\n")
        return head.decode("latin-1").lower().split("\r\n"), body

    async def test_plain(self):
        """Without anything given, the daemon names itself and asks for anything."""
        for path in ("//v1/x", "//a:b/", "/a;", "/a;?x=1", "/;b?;", "/a%20b?c=d&e"):
            head, body = await self.received(path=f"{path}#f")
            self.assertEqual(head[0], f"get {path} http/1.1")
        port = self.server.port.getHost().port
        self.assertEqual(
            sorted(head[1:]),
            [
                "accept-encoding: gzip, deflate",
                "accept: */*",
                "connection: close",
                f"host: {HERE}:{port}",
                "user-agent: plugin-bridge/0.1.0",
            ],
        )
        self.assertEqual(body, b"")

    async def test_given(self):
        """Headers, method and body are sent; the page may name itself."""
        head, body = await self.received(
            method="patch",
            headers={"authorization": "Bearer é", "USER-AGENT": "x", "cookie": "a=b"},
            body="ü",
        )
        self.assertTrue(head[0].startswith("patch / "))
        self.assertIn("authorization: bearer é", head)
        self.assertIn("cookie: a=b", head)
        self.assertIn("content-length: 2", head)
        self.assertEqual([h for h in head if "user-agent" in h], ["user-agent: x"])
        self.assertEqual(body, "ü".encode())

    async def test_nothing_of_the_environment(self):
        """No proxy of the environment is asked."""
        proxy = {"http_proxy": "http://127.0.0.1:1", "PATH": ""}
        with mock.patch.object(os, "environ", proxy):
            await self.received()


class AnswerTests(OutboundCase):
    async def test_repeated_headers(self):
        """They are joined, except cookies; those a page can't take are left out."""
        answer = await self.fetched(
            responding(
                b"",
                b"A: 1",
                b"Set-Cookie: a=b, c",
                b"a: 2",
                b"set-cookie: d=e",
                b"Nul: a\0b",
                b"Latin: caf\xe9",
                b"Folded: a",
                b"  b",
            ),
            "/#d",
        )
        port = self.server.port.getHost().port
        self.assertEqual(answer["url"], f"http://127.0.0.1:{port}/#d")
        self.assertEqual(
            answer["headers"], {"a": "1, 2", "latin": "café", "folded": "a  b"}
        )
        self.assertEqual(answer["setCookie"], ["a=b, c", "d=e"])

    async def test_statuses(self):
        """Every status is an answer; the words are the standard's."""
        for status, words, ok in ((404, "Not Found", False), (299, "", True)):
            answer = await self.fetched(
                responding(b"x", status=b"%d Evil Words" % status)
            )
            self.assertEqual(
                (answer["status"], answer["statusText"], answer["ok"], answer["body"]),
                (status, words, ok, "x"),
            )

    async def test_bodies(self):
        """However its end is told, and its text coded, a body comes whole, if any."""
        ok, length = b"HTTP/1.1 200 OK\r\n", b"Content-Length: 1\r\n\r\nx"
        early = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        chunks = b"2;x=y\r\nab\r\n1\r\nc\r\n0\r\nT: r\r\n\r\n"
        raw = zlib.compressobj(wbits=-15)
        for answer, body in (
            (sending(b"HTTP/1.0 200 OK\r\n\r\n", b"body", close=True), "body"),
            (sending(ok, b"Transfer-Encoding: chunked\r\n\r\n", chunks), "abc"),
            (sending(early * OUTBOUND_INTERIM_HEADS, ok, length), "x"),
            *(
                (responding(coded, b"Content-Encoding: " + coding), "text")
                for coding, coded in (
                    (b"gzip", gzip.compress(b"text")),
                    (b"X-Gzip", gzip.compress(b"text") + b"trailing"),
                    (b"deflate", zlib.compress(b"text")),
                    (b"deflate", raw.compress(b"text") + raw.flush()),
                )
            ),
        ):
            found = await self.fetched(answer)
            self.assertEqual((found["body"], found["headers"]), (body, {}))
        plain = responding(b"text", b"Content-Encoding: Identity")
        self.assertEqual((await self.fetched(plain))["body"], "text")
        for method, status in (
            ("HEAD", b"200 OK"),
            ("GET", b"204 No Content"),
            ("GET", b"304 Not Modified"),
        ):
            head = b"HTTP/1.1 " + status + b"\r\nContent-Length: 999999999\r\n"
            none = sending(head + b"Content-Encoding: gzip\r\n\r\n")
            self.assertEqual((await self.fetched(none, method=method))["body"], "")

    async def test_nothing_is_kept(self):
        """A connection that has ended waits for no garbage collection."""
        expect_freed(self, Guarded)
        await self.fetched(responding(b"x"))

    async def test_nobody_there(self):
        """A port without a listener is reported."""
        port = self.serve(lambda visit: None)
        await self.server.port.stopListening()
        self.assertEqual(
            await self.refusal(f"http://{HERE}:{port}/"),
            (Code.UNAVAILABLE, "no connection with the server"),
        )


class AgentTests(OutboundCase):
    async def test_version_6(self):
        """An address of version 6 is dialled as it is written, and named so."""
        port = self.serve(responding(b"here"), interface="::1")
        answer = await self.fetch(f"http://[::1]:{port}/")
        self.assertEqual(answer["body"], "here")
        head = self.server.visits[0].received.lower()
        self.assertIn(f"host: [::1]:{port}\r\n".encode(), head)

    async def test_attack_cookies(self):
        """A cookie is passed on to who asked, and to no server."""
        port = self.serve(responding(b"", b"Set-Cookie: a=b; Path=/"))
        for _ in range(2):
            answer = await self.fetch(f"http://{HERE}:{port}/")
            self.assertEqual(answer["setCookie"], ["a=b; Path=/"])
        for visit in self.server.visits:
            self.assertNotIn(b"cookie", visit.received.lower())


SMALL, LARGE = 8 * 1024, 64 * 1024


class GuardedTests(SynchronousTestCase):
    def read_in(self, *pieces: bytes) -> int:
        """Receive an answer; the size of the next read."""
        guarded = self.connected()
        self.assertEqual(self.answered(guarded, *pieces).code, 200)
        return guarded.transport.bufferSize

    def connected(self) -> Guarded:
        guarded = Guarded(lambda count: None)
        guarded.makeConnection(StringTransport())
        return guarded

    def answered(self, guarded: Guarded, *pieces: bytes) -> Any:
        """Send a request, and receive its answer."""
        headers = Headers({"host": ["x"]})
        asked = guarded.request(Request(b"GET", b"/", headers, None, persistent=True))
        self.assertEqual(guarded.transport.bufferSize, SMALL)
        self.assertFalse(guarded.is_kept)
        for piece in pieces:
            guarded.dataReceived(piece)
        return self.successResultOf(asked)

    def test_kept(self) -> None:
        """It is kept until either side ends it; each response has its own bounds."""
        interim = b"HTTP/1.1 100 Continue\r\n\r\n" * OUTBOUND_INTERIM_HEADS
        head = interim + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
        guarded = self.connected()
        for end, kept in ((b"\r\n", True), (b"Connection: close\r\n\r\n", False)):
            self.assertEqual(self.answered(guarded, head + end).code, 200)
            self.assertEqual(guarded.is_kept, kept)
        guarded = self.connected()
        self.answered(guarded, head + b"\r\n")
        guarded.connectionLost(Failure(ConnectionDone()))
        self.assertFalse(guarded.is_kept)

    def test_sent_again(self) -> None:
        """A request over a kept connection, if nothing has come of its answer."""
        request = CheckedRequest(read_url("http://x/"), "GET", (), b"")
        for begun, connected in ((b"", 2), (b"HTTP/1.1 2", 1)):
            memory = MemoryReactorClock()
            connections = Connections(
                memory, ["1.1.1.1"], 80, None, lambda count: None, True
            )
            asked = []
            for _ in range(2):
                asking = connections.ask(request, lambda head: bytearray())
                asked.append(Deferred.fromCoroutine(asking))
                if len(asked) == 1:
                    made = memory.tcpClients[0][2].buildProtocol(None)
                    made.makeConnection(StringTransport())
                    made.dataReceived(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                    self.successResultOf(asked[0])
            made.dataReceived(begun)
            made.connectionLost(Failure(ConnectionDone()))
            self.assertEqual(len(memory.tcpClients), connected)
            asked[1].cancel()
            self.failureResultOf(asked[1])

    def test_body_with_a_length(self) -> None:
        """It is not parsed, so it is read in large pieces."""
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
        self.assertEqual(self.read_in(head), LARGE)
        self.assertEqual(self.read_in(head[:30], head[30:]), LARGE)

    def test_attack_chunks_of_one_byte(self) -> None:
        """Chunks are parsed, so they are read in small pieces."""
        for name in (b"Transfer-Encoding", b"transfer-encoding", b"TRANSFER-ENCODING"):
            head = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n" + name
            self.assertEqual(self.read_in(head + b": chunked\r\n\r\n1\r\nx\r\n"), SMALL)
