"""Attacks by the server that is asked."""

from __future__ import annotations

import gc
import gzip
import tracemalloc
import zlib

from twisted.internet import reactor, task
from twisted.internet.defer import Deferred

from bridge.protocol.errors import Code
from bridge.protocol.limits import MIB

from ..outbound.servers import HERE, OutboundCase, responding, sending

HEAD = b"HTTP/1.1 200 OK\r\n"
TOO_LARGE = (Code.BAD_REQUEST, "the response: at most 16777216 bytes")
TOO_LARGE_AS_JSON = (Code.BAD_REQUEST, "the response: at most 33554432 bytes as JSON")
NOT_TEXT = (Code.BAD_REQUEST, "the response: not text in UTF-8")
UNKNOWN_CODING = (
    Code.BAD_REQUEST,
    "the response: its Content-Encoding is neither gzip nor deflate",
)
BROKE_OFF = (Code.UNAVAILABLE, "the response broke off")
NOT_HTTP = (Code.UNAVAILABLE, "the server's answer is not HTTP, or broke off")
BAD_HEAD = (
    Code.UNAVAILABLE,
    "the server's answer: the head of the response is not usable",
)
LONG_LINE = (
    Code.UNAVAILABLE,
    "the server's answer: a line of its head has more than 16384 bytes",
)
LATE = (Code.UNAVAILABLE, "no whole response within timeoutMs")


class HeadTests(OutboundCase):
    """Heads that are not what they should be."""

    async def test_attack_endless_headers(self):
        """Header after header, without end."""
        code, message = await self.refused(
            lambda visit: visit.stream(b"X-Y: zzzzzzzzzzzzz\r\n" * 1000, HEAD)
        )
        self.assertEqual(code, Code.UNAVAILABLE)
        self.assertIn("too large", message)
        self.assertLess(self.server.sent, 16 * MIB)

    async def test_attack_endless_line(self):
        """One header without end."""
        code, message = await self.refused(
            lambda visit: visit.stream(b"x" * 10000, HEAD + b"A: ")
        )
        self.assertEqual(code, Code.UNAVAILABLE)
        self.assertIn("too large", message)

    async def test_attack_many_headers(self):
        """More headers than anybody needs, in a head that ends."""
        answer = sending(HEAD, b"a:\r\n" * 5000, b"\r\n")
        self.assertEqual(await self.refused(answer), BAD_HEAD)

    async def test_attack_long_header(self):
        """A header longer than the parser takes is called what it is."""
        for size in (16 * 1024, 60 * 1024):
            answer = sending(HEAD, b"a: ", b"x" * size, b"\r\n\r\n")
            self.assertEqual(await self.refused(answer), LONG_LINE)

    async def test_attack_interim_flood(self):
        """Interim responses without end; none of them reaches the daemon's log."""
        code, message = await self.refused(
            lambda visit: visit.stream(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
        )
        self.assertEqual(code, Code.UNAVAILABLE)
        self.assertIn("interim", message)

    async def test_attack_dribbled_interims(self):
        """The same, one byte at a time: they are counted all the same."""

        def answer(visit):
            flood = iter(b"HTTP/1.1 100 Continue\n\n" * 20)
            visit.transport.setTcpNoDelay(True)
            dribble = task.LoopingCall(
                lambda: visit.transport.write(bytes([next(flood)]))
            )
            visit.closed.addCallback(lambda _: dribble.stop())
            dribble.start(0)

        _, message = await self.refused(answer)
        self.assertIn("interim", message)

    async def test_attack_other_protocols(self):
        """What does not begin as HTTP/1 does is not read on."""
        for start in (
            b"FTP/1.1 200 OK",
            b"HTTP/2.0 200 OK",
            b"HTTP/1.1 999 No",
            b"HTTP/1.1 099 No",
            b"HTTP/1.1 2_0 OK",
            b"HTTP/1.1 +200 OK",
            b"HTTP/1.1  200 OK",
            b"ICY 200 OK",
            b"220 smtp.example ESMTP",
            b"",
        ):
            answer = sending(start, b"\r\nContent-Length: 0\r\n\r\n")
            self.assertEqual(await self.refused(answer), BAD_HEAD, start)

    async def test_attack_server_that_speaks_first(self):
        """A server of another protocol greets, and is not answered."""
        port = self.serve(sending(b"SSH-2.0-x\r\n", close=True), greets=True)
        self.assertEqual(await self.refusal(f"http://{HERE}:{port}/"), NOT_HTTP)

    async def test_attack_bad_header_lines(self):
        """Lines that are no headers."""
        for line in (b"no colon", b" folded first", b"Caf\xe9: x", b": x"):
            answer = sending(HEAD, line, b"\r\n\r\n")
            self.assertEqual(await self.refused(answer), NOT_HTTP, line)

    async def test_attack_closed_at_once(self):
        """Nothing at all is answered."""
        self.assertEqual(await self.refused(sending(close=True)), NOT_HTTP)


class BodyTests(OutboundCase):
    """Bodies that are not what they should be."""

    async def test_attack_declared_too_large(self):
        """A length over the limit ends it before a byte of the body."""
        answer = sending(HEAD, b"Content-Length: 16777217\r\n\r\n")
        self.assertEqual(await self.refused(answer), TOO_LARGE)

    async def test_attack_absurd_lengths(self):
        """Lengths that are none, or contradict each other."""
        for line in (
            b"Content-Length: -1",
            b"Content-Length: x",
            b"Content-Length: 1\r\nContent-Length: 2",
            b"Content-Length: 1, 2",
        ):
            answer = sending(HEAD, line, b"\r\n\r\nab", close=True)
            self.assertEqual((await self.refused(answer))[0], Code.UNAVAILABLE, line)
        huge = sending(HEAD, b"Content-Length: ", b"9" * 400, b"\r\n\r\n")
        self.assertEqual(await self.refused(huge), TOO_LARGE)

    async def test_attack_stream_without_end(self):
        """A body without a length is read to the limit, and not on."""
        answer = await self.refused(
            lambda visit: visit.stream(b"x" * 65536, HEAD + b"\r\n")
        )
        self.assertEqual(answer, TOO_LARGE)
        self.assertLess(self.server.sent, 32 * MIB)

    async def test_attack_gzip_bomb(self):
        """What inflates to more than the limit is not inflated to the end."""
        body = gzip.compress(b"\0" * 200 * MIB, 9)
        answer = await self.refused(responding(body, b"Content-Encoding: gzip"))
        self.assertEqual(answer, TOO_LARGE_AS_JSON)

    async def test_attack_deflate_bomb(self):
        """The same by deflate."""
        body = zlib.compress(b"a" * 64 * MIB, 9)
        answer = await self.refused(responding(body, b"Content-Encoding: deflate"))
        self.assertEqual(answer, TOO_LARGE)

    async def test_attack_text_that_grows_as_json(self):
        """What would be far larger as JSON is refused."""
        answer = await self.refused(responding(b"\0" * 6 * MIB))
        self.assertEqual(answer, TOO_LARGE_AS_JSON)

    async def test_attack_broken_gzip(self):
        """What is not in its declared coding, or breaks off."""
        whole = gzip.compress(b"text" * 1000)
        for body in (b"text", whole[:-20], whole[:30] + b"xxxx" + whole[34:]):
            _, message = await self.refused(responding(body, b"Content-Encoding: gzip"))
            self.assertEqual(message, "the response cannot be inflated")

    async def test_attack_other_codings(self):
        """A coding nobody asked for."""
        for coding in (b"br", b"gzip, gzip", b"zstd"):
            answer = await self.refused(
                responding(b"x", b"Content-Encoding: " + coding)
            )
            self.assertEqual(answer, UNKNOWN_CODING)

    async def test_attack_invalid_utf8(self):
        """Bytes that are no UTF-8, also where the body ends within a character."""
        for body in (b"a\xff", b"\xed\xa0\x80", b"\xc3", b"\xc0\x80"):
            answer = await self.refused(
                responding(body, b"Content-Type: text/plain; charset=latin-1")
            )
            self.assertEqual(answer, NOT_TEXT)

    async def test_attack_binary_without_end(self):
        """What is not text is refused as soon as it is received, not at its end."""
        answer = await self.refused(
            sending(HEAD, b"Content-Length: 1000000\r\n\r\nMZ\xff\xff")
        )
        self.assertEqual(answer, NOT_TEXT)

    async def test_attack_refused_bodies_fill_memory(self):
        """What was received of a refused body is freed at once, not as garbage."""
        body = bytes(range(32, 127)) * 10_000
        short = HEAD + b"Content-Length: 1000000\r\n\r\n" + body
        coded = b"Content-Encoding: gzip"
        refused = {
            NOT_TEXT: (
                responding(body + b"\xff"),
                responding(body + b"\xc3"),
                responding(gzip.compress(body + b"\xff", 0), coded),
            ),
            BROKE_OFF: (sending(short, close=True),),
            UNKNOWN_CODING: (responding(body, b"Content-Encoding: br"),),
        }
        await self.refused(responding(b"\xff"))  # loads what it needs
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        for refusal, answers in refused.items():
            for answer in answers:
                before = tracemalloc.get_traced_memory()[0]
                self.assertEqual(await self.refused(answer), refusal)
                kept = tracemalloc.get_traced_memory()[0] - before
                self.assertLess(kept, len(body) // 2, refusal)

    async def test_attack_cut_short(self):
        """A connection that closes within the body."""
        for answer in (
            sending(HEAD, b"Content-Length: 10\r\n\r\nabc", close=True),
            sending(HEAD, b"Transfer-Encoding: chunked\r\n\r\n5\r\nab", close=True),
        ):
            self.assertEqual(await self.refused(answer), BROKE_OFF)

    async def test_attack_reset_for_an_end(self):
        """A body without a length ends by an orderly close only, not by a reset."""

        def answer(visit):
            visit.send(HEAD, b"\r\nabc")
            reactor.callLater(0.1, visit.transport.abortConnection)

        self.assertEqual(await self.refused(answer), BROKE_OFF)

    async def test_attack_chunk_junk(self):
        """Chunks that are none."""
        chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
        for junk in (
            b"zz\r\n",
            b"-1\r\n",
            b"1\r\nabc\r\n",
            b"5" * 5000,
            b"1;\xff=\x01\r\na\r\n",
            b"0\r\n" + b"T: x\r\n" * 20000,
        ):
            answer = sending(chunked, junk, close=True)
            self.assertEqual((await self.refused(answer))[0], Code.UNAVAILABLE, junk)

    async def test_attack_tiny_chunks(self):
        """One byte in each chunk: there may be only so many."""
        head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
        code, message = await self.refused(
            lambda visit: visit.stream(b"1\r\na\r\n" * 1000, head)
        )
        self.assertEqual(code, Code.UNAVAILABLE)
        self.assertIn("too many chunks", message)

    async def test_attack_chunk_without_end(self):
        """A chunk that is too large is refused at its line, before its content."""
        head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
        for pieces in ((head, b"2000001\r\n"), (head + b"1\r\na\r\nffffffffff\r\n",)):
            self.assertEqual(
                await self.refused(sending(*pieces)),
                (
                    Code.UNAVAILABLE,
                    "the server's answer: a chunk of more than 33554432 bytes",
                ),
            )

    async def test_attack_padded_chunks(self):
        """More padding than text, without end: the wire is bounded, not only text."""
        head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
        extended = b"1;" + b"x" * 1000 + b"\r\na\r\n"
        code, message = await self.refused(
            lambda visit: visit.stream(extended * 100, head)
        )
        self.assertEqual(code, Code.UNAVAILABLE)
        self.assertIn("too many bytes", message)

    async def test_attack_transfer_encoding(self):
        """Transfer codings other than chunked are not guessed at."""
        for line in (b"xchunked", b"gzip, chunked", b"identity", b"chunked;a"):
            answer = sending(
                HEAD, b"Transfer-Encoding: ", line, b"\r\n\r\n1\r\na\r\n0\r\n\r\n"
            )
            self.assertEqual(await self.refused(answer), NOT_HTTP, line)

    async def test_attack_both_lengths(self):
        """With both a length and chunks, the chunks count (RFC 9112, section 6.3)."""
        answer = await self.fetched(
            sending(
                HEAD,
                b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
                b"1\r\na\r\n0\r\n\r\n",
            )
        )
        self.assertEqual(answer["body"], "a")

    async def test_attack_trailing_garbage(self):
        """What follows the response is another's answer nowhere."""
        answer = await self.fetched(
            sending(HEAD, b"Content-Length: 1\r\n\r\na", HEAD, b"\r\nEVIL")
        )
        self.assertEqual(answer["body"], "a")

    async def test_attack_redirect_to_loopback(self):
        """A redirect is an answer; nobody follows it."""
        answer = await self.fetched(
            responding(b"", b"Location: http://127.0.0.1:1/", status=b"302 Found")
        )
        self.assertEqual(answer["status"], 302)
        self.assertEqual(answer["headers"]["location"], "http://127.0.0.1:1/")
        self.assertEqual(len(self.server.visits), 1)


class TimeTests(OutboundCase):
    """Servers that take their time."""

    async def test_attack_silence(self):
        """Nothing is answered, and the connection stays open."""
        answer = await self.refused(lambda visit: None, timeoutMs=100)
        self.assertEqual(answer, LATE)

    async def test_attack_dribbled_body(self):
        """A byte now and then does not prolong it."""

        def answer(visit):
            visit.send(HEAD, b"Content-Length: 1000\r\n\r\n")
            dribble = task.LoopingCall(lambda: visit.transport.write(b"x"))
            visit.closed.addCallback(lambda _: dribble.stop())
            dribble.start(0.01)

        self.assertEqual(await self.refused(answer, timeoutMs=200), LATE)

    async def test_attack_body_nobody_reads(self):
        """A server that does not read does not hold the request open."""

        def answer(visit):
            visit.transport.pauseProducing()

        port = self.serve(answer, greets=True)
        url = f"http://{HERE}:{port}/"
        refusal = await self.refusal(url, method="POST", body="x" * MIB, timeoutMs=200)
        self.assertEqual(refusal, LATE)
        self.server.visits[0].transport.resumeProducing()

    async def test_attack_look_up_without_end(self):
        """The time for a look-up counts."""
        fetcher = self.fetcher(lambda host: Deferred())
        failure = await self.assertFailure(
            self.calling({"url": "http://a.net/", "timeoutMs": 50}, fetcher), Exception
        )
        self.assertEqual((failure.code, failure.message), LATE)

    async def test_time_limits(self):
        """The time is brought into its bounds."""
        answer = await self.refused(lambda visit: None, timeoutMs=-5)
        self.assertEqual(answer, LATE)
