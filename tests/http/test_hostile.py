"""Attacks by the server that is asked."""

import gc
import gzip
import tracemalloc
import zlib

from twisted.internet import reactor, task

from bridge.protocol.errors import Code
from bridge.protocol.limits import MIB

from .servers import HERE, Answer, OutboundCase, responding, sending

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
GZIP, DEFLATE = b"Content-Encoding: gzip", b"Content-Encoding: deflate"
WHOLE_GZIP = gzip.compress(b"text" * 1000)

TOO_LARGE = (Code.BAD_REQUEST, "the response: at most 16777216 bytes")
TOO_LARGE_AS_JSON = (Code.BAD_REQUEST, "the response: at most 33554432 bytes as JSON")
NOT_TEXT = (Code.BAD_REQUEST, "the response: not text in UTF-8")
NOT_INFLATED = (Code.UNAVAILABLE, "the response cannot be inflated")
UNKNOWN_CODING = (
    Code.BAD_REQUEST,
    "the response: its Content-Encoding is neither gzip nor deflate",
)
BROKE_OFF = (Code.UNAVAILABLE, "the response broke off")
TOO_MANY_CHUNKS = (Code.UNAVAILABLE, "the response comes in too many chunks")
NOT_HTTP = (Code.UNAVAILABLE, "the server's answer is not HTTP, or broke off")
LATE = (Code.UNAVAILABLE, "no whole response within timeoutMs")


def stops(rule: str) -> tuple[Code, str]:
    """Return the refusal of an answer that breaks a rule while it comes."""
    return Code.UNAVAILABLE, f"the server's answer: {rule}"


LARGE_HEAD = stops("the head of the response is too large")
BAD_HEAD = stops("the head of the response is not usable")
LONG_LINE = stops("a line of its head has more than 16384 bytes")
INTERIMS = stops("too many interim responses")
TOO_MUCH = stops("too many bytes were received")
LARGE_CHUNK = stops("a chunk of more than 33554432 bytes")


def endless(piece: bytes, head: bytes = b"") -> Answer:
    """Answer with a head, and the same piece for ever."""
    return lambda visit: visit.stream(piece, head)


def dribbling(pieces: bytes, head: bytes = b"", seconds: float = 0) -> Answer:
    """Answer with a head, and a byte of some more now and then."""

    def answer(visit) -> None:
        visit.send(head)
        visit.transport.setTcpNoDelay(True)
        left = iter(pieces)
        dribble = task.LoopingCall(lambda: visit.transport.write(bytes([next(left)])))
        visit.closed.addCallback(lambda _: dribble.stop())
        dribble.start(seconds)

    return answer


def cut_off(visit) -> None:
    """Answer with a body of no length, and a reset for its end."""
    visit.send(HEAD, b"\r\nabc")
    reactor.callLater(0.1, visit.transport.abortConnection)


Cases = dict[str, tuple[Answer, tuple[Code, str]]]

HEADS: Cases = {
    "headers without end": (endless(b"X-Y: zzzzzzz\r\n" * 1000, HEAD), LARGE_HEAD),
    "a header without end": (endless(b"x" * 10000, HEAD + b"A: "), LARGE_HEAD),
    "a large head": (
        sending(
            HEAD,
            *[b"a: " + b"x" * 16000 + b"\r\n"] * 4,
            b"b: ",
            b"x" * 2000,
            b"\r\n\r\n",
        ),
        LARGE_HEAD,
    ),
    "many headers": (sending(HEAD, b"a:\r\n" * 5000, b"\r\n"), BAD_HEAD),
    "a long header": (sending(HEAD, b"a: ", b"x" * 16384, b"\r\n\r\n"), LONG_LINE),
    "a longer one": (sending(HEAD, b"a: ", b"x" * 60 * 1024, b"\r\n\r\n"), LONG_LINE),
    "interims without end": (endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 100), INTERIMS),
    "dribbled interims": (dribbling(b"HTTP/1.1 100 Continue\n\n" * 20), INTERIMS),
    "nothing": (sending(close=True), NOT_HTTP),
    **{
        f"begins with {start!r}": (
            sending(start, b"\r\nContent-Length: 0\r\n\r\n"),
            BAD_HEAD,
        )
        for start in (
            *(b"FTP/1.1 200 OK", b"HTTP/2.0 200 OK", b"HTTP/1.1 999 No", b""),
            *(b"HTTP/1.1 099 No", b"HTTP/1.1 2_0 OK", b"HTTP/1.1 +200 OK"),
            *(b"HTTP/1.1  200 OK", b"ICY 200 OK", b"220 smtp.example ESMTP"),
        )
    },
    **{
        f"the line {line!r}": (sending(HEAD, line, b"\r\n\r\n"), NOT_HTTP)
        for line in (b"no colon", b" folded first", b"Caf\xe9: x", b": x")
    },
    **{
        f"the transfer coding {coding!r}": (
            sending(HEAD, b"Transfer-Encoding: ", coding, b"\r\n\r\n0\r\n\r\n"),
            NOT_HTTP,
        )
        for coding in (b"xchunked", b"gzip, chunked", b"identity", b"chunked;a")
    },
    **{
        f"the length {length!r}": (
            sending(HEAD, b"Content-Length: ", length, b"\r\n\r\nab", close=True),
            NOT_HTTP,
        )
        for length in (b"-1", b"x", b"1\r\nContent-Length: 2", b"1, 2")
    },
    "a length over the limit": (
        sending(HEAD, b"Content-Length: 16777217\r\n\r\n"),
        TOO_LARGE,
    ),
    "an absurd length": (
        sending(HEAD, b"Content-Length: ", b"9" * 400, b"\r\n\r\n"),
        TOO_LARGE,
    ),
}

BODIES: Cases = {
    "a stream without end": (endless(b"x" * 65536, HEAD + b"\r\n"), TOO_LARGE),
    "a gzip bomb": (
        lambda visit: visit.ok(gzip.compress(b"\0" * 200 * MIB, 9), GZIP),
        TOO_LARGE_AS_JSON,
    ),
    "a deflate bomb": (
        lambda visit: visit.ok(zlib.compress(b"a" * 64 * MIB, 9), DEFLATE),
        TOO_LARGE,
    ),
    "text that grows as JSON": (responding(b"\0" * 6 * MIB), TOO_LARGE_AS_JSON),
    **{
        f"gzip that is none: {number}": (responding(body, GZIP), NOT_INFLATED)
        for number, body in enumerate(
            (b"text", WHOLE_GZIP[:-20], WHOLE_GZIP[:30] + b"xxxx" + WHOLE_GZIP[34:])
        )
    },
    **{
        f"the coding {coding!r}": (
            responding(b"x", b"Content-Encoding: " + coding),
            UNKNOWN_CODING,
        )
        for coding in (b"br", b"gzip, gzip", b"zstd")
    },
    **{
        f"the text {body!r}": (
            responding(body, b"Content-Type: text/plain; charset=latin-1"),
            NOT_TEXT,
        )
        for body in (b"a\xff", b"\xed\xa0\x80", b"\xc3", b"\xc0\x80")
    },
    "no text, without end": (
        sending(HEAD, b"Content-Length: 1000000\r\n\r\nMZ\xff\xff"),
        NOT_TEXT,
    ),
    "a body cut short": (
        sending(HEAD, b"Content-Length: 10\r\n\r\nabc", close=True),
        BROKE_OFF,
    ),
    "chunks cut short": (sending(CHUNKED, b"5\r\nab", close=True), BROKE_OFF),
    "a reset for an end": (cut_off, BROKE_OFF),
    **{
        f"the chunk {junk[:9]!r}": (sending(CHUNKED, junk, close=True), BROKE_OFF)
        for junk in (
            *(b"zz\r\n", b"-1\r\n", b"1\r\nabc\r\n", b"5" * 5000),
            *(b"1;\xff=\x01\r\na\r\n", b"0\r\n" + b"T: x\r\n" * 20000),
        )
    },
    "tiny chunks": (endless(b"1\r\na\r\n" * 1000, CHUNKED), TOO_MANY_CHUNKS),
    "padded chunks": (
        endless((b"1;" + b"x" * 1000 + b"\r\na\r\n") * 100, CHUNKED),
        TOO_MUCH,
    ),
    "a large chunk": (sending(CHUNKED, b"2000001\r\n"), LARGE_CHUNK),
    "a larger one": (sending(CHUNKED + b"1\r\na\r\nffffffffff\r\n"), LARGE_CHUNK),
}


class RefusalTests(OutboundCase):
    async def check(self, cases: Cases) -> None:
        """Ask for each answer, which is refused before much of it was sent."""
        for case, (answer, refusal) in cases.items():
            self.assertEqual(await self.refused(answer), refusal, case)
            self.assertLess(self.server.sent, 48 * MIB, case)

    async def test_attack_heads(self):
        """Heads that are no HTTP, too large, or without end."""
        await self.check(HEADS)

    async def test_attack_bodies(self):
        """Bodies that are no text, too large however coded, cut short, without end."""
        await self.check(BODIES)

    async def test_attack_server_that_speaks_first(self):
        """A server of another protocol greets, and is not answered."""
        port = self.serve(sending(b"SSH-2.0-x\r\n", close=True), greets=True)
        self.assertEqual(await self.refusal(f"http://{HERE}:{port}/"), NOT_HTTP)

    async def test_attack_refused_bodies_fill_memory(self):
        """What was received of a refused body is freed at once, not as garbage."""
        body = bytes(range(32, 127)) * 10_000
        short = HEAD + b"Content-Length: 1000000\r\n\r\n" + body
        refused = {
            NOT_TEXT: (
                responding(body + b"\xff"),
                responding(body + b"\xc3"),
                responding(gzip.compress(body + b"\xff", 0), GZIP),
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

    async def test_attack_two_answers(self):
        """Chunks count, not a length (RFC 9112, 6.3); what follows is nobody's."""
        both = b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
        for answer in (
            sending(HEAD, both, b"1\r\na\r\n0\r\n\r\n"),
            sending(HEAD, b"Content-Length: 1\r\n\r\na", HEAD, b"\r\nEVIL"),
        ):
            self.assertEqual((await self.fetched(answer))["body"], "a")

    async def test_attack_redirect_to_loopback(self):
        """A redirect is an answer; nobody follows it."""
        answer = await self.fetched(
            responding(b"", b"Location: http://127.0.0.1:1/", status=b"302 Found")
        )
        self.assertEqual(answer["status"], 302)
        self.assertEqual(answer["headers"]["location"], "http://127.0.0.1:1/")
        self.assertEqual(len(self.server.visits), 1)


class TimeTests(OutboundCase):
    async def test_attack_slow_servers(self):
        """Silence, and a byte now and then, end with the time, whatever that was."""
        body = dribbling(b"x" * 1000, HEAD + b"Content-Length: 1000\r\n\r\n", 0.01)
        for answer, milliseconds in ((lambda _: None, 100), (body, 200), (body, -5)):
            refusal = await self.refused(answer, timeoutMs=milliseconds)
            self.assertEqual(refusal, LATE)

    async def test_attack_body_nobody_reads(self):
        """A server that does not read does not hold the request open."""
        port = self.serve(lambda visit: visit.transport.pauseProducing(), greets=True)
        url = f"http://{HERE}:{port}/"
        refusal = await self.refusal(url, method="POST", body="x" * MIB, timeoutMs=200)
        self.assertEqual(refusal, LATE)
        self.server.visits[0].transport.resumeProducing()
