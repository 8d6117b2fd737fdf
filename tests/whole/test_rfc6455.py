"""RFC 6455, case by case, against a real daemon: what is answered, what closes."""

from __future__ import annotations

import contextlib
import json
import os
from contextlib import AbstractContextManager

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import FRAME_BYTES, HELLO_FRAME_BYTES

from ..directories import fresh_directory
from ..rawsocket import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    End,
    RawSocket,
    close_frame,
    frame,
    text,
)
from .daemon import Daemon, running

REQUEST = {"type": "request", "id": "7", "service": "x", "method": "y"}
ASKED = json.dumps(REQUEST).encode("ascii")
PROTOCOL_ERROR = (1002, "protocol_error")
NOT_UTF8 = (1007, "not_utf8")
TOO_LARGE = (1009, "frame_too_large")
HELLO_REQUIRED = (1008, "hello_required")


def fragments(*payloads: bytes, opcode: int = TEXT) -> list[bytes]:
    """Write a message in so many fragments."""
    last = len(payloads) - 1
    return [
        frame(CONTINUATION if i else opcode, payload, fin=i == last)
        for i, payload in enumerate(payloads)
    ]


def padded(size: int) -> bytes:
    """Write the request as JSON of so many bytes."""
    return ASKED[:-1] + b" " * (size - len(ASKED)) + b"}"


# What is read as one message: the pieces as they are sent.
ANSWERED: dict[str, list[bytes]] = {
    "one frame": [frame(TEXT, ASKED)],
    "a byte at a time": [bytes([byte]) for byte in frame(TEXT, ASKED)],
    "two messages at once": [frame(TEXT, ASKED) + frame(PONG, b"unasked")],
    "length in 7 bits": [frame(TEXT, padded(125))],
    "length in 16 bits": [frame(TEXT, padded(126))],
    "length in 16 bits, the longest": [frame(TEXT, padded(65535))],
    "length in 64 bits": [frame(TEXT, padded(65536))],
    "as large as may be": [frame(TEXT, padded(FRAME_BYTES))],
    "as large as may be, in fragments": fragments(
        *(padded(FRAME_BYTES)[i : i + 65536] for i in range(0, FRAME_BYTES, 65536))
    ),
    "fragments": fragments(ASKED[:5], ASKED[5:20], ASKED[20:]),
    "fragments of a byte": fragments(*(bytes([byte]) for byte in ASKED)),
    "a thousand fragments at once": [
        b"".join(fragments(ASKED[:1], *[b""] * 1000, ASKED[1:]))
    ],
    "empty fragments": fragments(b"", ASKED, b"", b""),
    "a character cut in two": fragments(
        *'{"type":"request","id":"7","service":"x","method":"y","params":{"é":1}}'.encode()
        .replace(b"\xc3\xa9", b"\xc3|\xa9")
        .split(b"|")
    ),
    "a pong nobody asked for": [frame(PONG), frame(PONG, b"x"), frame(TEXT, ASKED)],
}

# What ends the connection: after a hello, and how.
CLOSED: dict[str, tuple[list[bytes], tuple[int, str]]] = {
    **{
        f"reserved bits {rsv}": ([frame(TEXT, ASKED, rsv=rsv)], PROTOCOL_ERROR)
        for rsv in (1, 2, 4, 7)
    },
    "a reserved bit on a ping": ([frame(PING, b"x", rsv=1)], PROTOCOL_ERROR),
    **{
        f"reserved opcode {opcode}": ([frame(opcode, b"x")], PROTOCOL_ERROR)
        for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)
    },
    "a reserved opcode without payload": ([frame(3)], PROTOCOL_ERROR),
    "unmasked": ([frame(TEXT, ASKED, mask=False)], PROTOCOL_ERROR),
    "unmasked ping": ([frame(PING, b"x", mask=False)], PROTOCOL_ERROR),
    "unmasked close": ([frame(CLOSE, b"\x03\xe8", mask=False)], PROTOCOL_ERROR),
    "continuation of nothing": ([frame(CONTINUATION, ASKED)], PROTOCOL_ERROR),
    "continuation of nothing, unfinished": (
        [frame(CONTINUATION, ASKED, fin=False)],
        PROTOCOL_ERROR,
    ),
    "continuation of what has ended": (
        [*fragments(ASKED[:5], ASKED[5:]), frame(CONTINUATION, b"")],
        PROTOCOL_ERROR,
    ),
    "a message within a message": (
        [frame(TEXT, ASKED, fin=False), frame(TEXT, ASKED)],
        PROTOCOL_ERROR,
    ),
    "a binary message within a message": (
        [frame(TEXT, ASKED, fin=False), frame(BINARY, ASKED)],
        PROTOCOL_ERROR,
    ),
    "fragmented ping": ([frame(PING, b"x", fin=False)], PROTOCOL_ERROR),
    "fragmented pong": ([frame(PONG, b"x", fin=False)], PROTOCOL_ERROR),
    "fragmented close": ([frame(CLOSE, b"\x03\xe8", fin=False)], PROTOCOL_ERROR),
    "ping of 126 bytes": ([frame(PING, b"x" * 126)], PROTOCOL_ERROR),
    "close of 126 bytes": ([close_frame(1000, b"x" * 124)], PROTOCOL_ERROR),
    "16 bits for 125": ([frame(TEXT, b" " * 125, width=2)], PROTOCOL_ERROR),
    "64 bits for 125": ([frame(TEXT, b" " * 125, width=8)], PROTOCOL_ERROR),
    "64 bits for 65535": ([frame(TEXT, b" " * 65535, width=8)], PROTOCOL_ERROR),
    "length with the highest bit": (
        [frame(TEXT, b"", width=8, length=2**63)],
        PROTOCOL_ERROR,
    ),
    "close of one byte": ([frame(CLOSE, b"\x03")], PROTOCOL_ERROR),
    **{
        f"close code {code}": ([close_frame(code)], PROTOCOL_ERROR)
        for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 2000, 2999, 5000, 65535)
    },
    "close reason that is not UTF-8": ([close_frame(1000, b"\xff")], NOT_UTF8),
    "not UTF-8": ([frame(TEXT, b"\xff")], NOT_UTF8),
    "a surrogate": ([frame(TEXT, b'"\xed\xa0\x80"')], NOT_UTF8),
    "an overlong form": ([frame(TEXT, b'"\xc0\xaf"')], NOT_UTF8),
    "beyond Unicode": ([frame(TEXT, b'"\xf4\x90\x80\x80"')], NOT_UTF8),
    "ends within a character": ([frame(TEXT, b'"\xc3')], NOT_UTF8),
    "fragments end within a character": (fragments(b'"', b"\xe2\x82"), NOT_UTF8),
    # It fails at the first byte that can't be right, not at the end.
    "not UTF-8 in a first fragment": ([frame(TEXT, b"\xff", fin=False)], NOT_UTF8),
    "not UTF-8 in a later fragment": (
        [frame(TEXT, b"\xe2", fin=False), frame(CONTINUATION, b"\x28", fin=False)],
        NOT_UTF8,
    ),
    "not UTF-8 in the half of a frame": ([frame(TEXT, b"\xff" * 99)[:40]], NOT_UTF8),
    "a wrong continuation byte, refused early": (
        [frame(TEXT, b"\xf4\x90", fin=False)],
        NOT_UTF8,
    ),
    "binary": ([frame(BINARY, ASKED)], (1003, "text_frames_only")),
    "binary in fragments": (
        fragments(ASKED[:5], ASKED[5:], opcode=BINARY),
        (1003, "text_frames_only"),
    ),
    "too large, said at once": (
        [frame(TEXT, b"", width=8, length=FRAME_BYTES + 1)],
        TOO_LARGE,
    ),
    "as large as can be said": (
        [frame(TEXT, b"", width=8, length=2**63 - 1)],
        TOO_LARGE,
    ),
    "too large": ([frame(TEXT, b" " * (FRAME_BYTES + 1))], TOO_LARGE),
    "too large in sum": (
        [
            *(
                frame(CONTINUATION if i else TEXT, b" " * 65536, fin=False)
                for i in range(FRAME_BYTES // 65536)
            ),
            frame(CONTINUATION, b" "),
        ],
        TOO_LARGE,
    ),
    "more after what is wrong": (
        [frame(3) + frame(TEXT, ASKED) * 1000 + close_frame(1000)],
        PROTOCOL_ERROR,
    ),
}

# The same, of a socket that has not sent hello: whatever it is, no hello came.
EARLY: dict[str, list[bytes]] = {
    "over 4 KiB": [frame(TEXT, b" " * (HELLO_FRAME_BYTES + 1))],
    "over 4 KiB, said at once": [
        frame(TEXT, b"", width=2, length=HELLO_FRAME_BYTES + 1)
    ],
    "over 4 KiB in sum": fragments(b" " * HELLO_FRAME_BYTES, b" "),
    "8 MiB": [frame(TEXT, b" " * FRAME_BYTES)],
    "binary": [frame(BINARY, b"x")],
    "not UTF-8": [frame(TEXT, b"\xff")],
    "reserved bits": [frame(TEXT, ASKED, rsv=4)],
    "reserved opcode": [frame(11)],
    "unmasked": [frame(TEXT, ASKED, mask=False)],
    "a request": [frame(TEXT, ASKED)],
    "TLS": [bytes.fromhex("16030100a5010000a10303") + bytes(160)],
    "HTTP": [b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n"],
}


class ConformanceTests(SynchronousTestCase):
    """Tests of the framing, over TCP."""

    def setUp(self) -> None:
        """Start a daemon, which lets everybody in; its log has no defect."""
        freely = "--rate=10000", "--burst=10000"
        starting = running(fresh_directory(self), *freely)
        self.daemon = starting.__enter__()
        self.addCleanup(self.end, starting)

    def end(self, running: AbstractContextManager[Daemon]) -> None:
        """End the daemon."""
        running.__exit__(None, None, None)
        for wrong in ("Traceback", "Unhandled", "broke"):
            self.assertNotIn(wrong, "".join(self.daemon.lines))

    def ended(self, pieces: list[bytes], hello: bool = True) -> End:
        """Open a socket, send, and read how it ends."""
        with RawSocket(self.daemon.port) as raw:
            if hello:
                raw.hello(self.daemon.token)
            # What is still being sent when it ends can't be sent any more.
            with contextlib.suppress(ConnectionError):
                raw.send(*pieces)
            return raw.ended()

    def test_answered(self) -> None:
        """However a message is cut into frames and packets, it is one request."""
        for case, pieces in ANSWERED.items():
            with RawSocket(self.daemon.port) as raw:
                raw.hello(self.daemon.token)
                raw.send(*pieces)
                got = raw.receive()
            self.assertEqual((got["id"], got["ok"]), ("7", False), case)
            self.assertEqual(got["error"]["code"], "unknown_service", case)

    def test_closed(self) -> None:
        """Each violation closes with its code, then ends without a reset."""
        for case, (pieces, how) in CLOSED.items():
            end = self.ended(pieces)
            self.assertEqual((end.code, end.reason), how, case)
            self.assertFalse(end.reset, case)
            self.assertEqual([f for f in end.before if f[0] != TEXT], [], case)

    def test_attack_before_hello(self) -> None:
        """Before a hello all of it is 1008, and nothing is answered."""
        for case, pieces in EARLY.items():
            end = self.ended(pieces, hello=False)
            self.assertEqual((end.code, end.reason), HELLO_REQUIRED, case)
            self.assertFalse(end.reset, case)
            self.assertEqual(end.before, [], case)

    def test_close_is_echoed(self) -> None:
        """A peer's close is answered with its code, without its words."""
        codes = (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013)
        for code in (*codes, 3000, 3999, 4000, 4999):
            for hello in (True, False):
                end = self.ended([close_frame(code, b"why")], hello)
                self.assertEqual((end.code, end.reason), (code, ""))
                self.assertFalse(end.reset, code)
        end = self.ended([frame(CLOSE)])
        self.assertEqual((end.code, end.reset, end.before), (None, False, []))

    def test_pings(self) -> None:
        """Pings are answered with what they hold, also between fragments."""
        for payload in (b"", b"x", os.urandom(125)):
            with RawSocket(self.daemon.port) as raw:
                raw.send(frame(PING, payload))
                self.assertEqual(raw.read(), (PONG, payload))
                raw.hello(self.daemon.token)
                first, second = fragments(ASKED[:9], ASKED[9:])
                raw.send(first + frame(PING, payload) + second + frame(PING, b"2"))
                self.assertEqual(raw.read(), (PONG, payload))
                self.assertEqual(raw.receive()["id"], "7")
                self.assertEqual(raw.read(), (PONG, b"2"))

    def test_sent_with_the_handshake(self) -> None:
        """Nothing is lost of what comes before the handshake was answered."""
        hello = {"type": "hello", "token": self.daemon.token, "client": "raw/1.0.0"}
        sent = text(hello) + text(REQUEST)
        for cut in (10, len(text(hello)), len(sent)):
            with RawSocket(self.daemon.port, early=sent[:cut]) as raw:
                raw.send(sent[cut:])
                self.assertEqual(raw.receive()["type"], "welcome", cut)
                self.assertEqual(raw.receive()["id"], "7", cut)
        with RawSocket(self.daemon.port, early=b"GET / HTTP/1.1\r\n\r\n") as raw:
            self.assertEqual(raw.ended().reason, "hello_required")

    def test_order(self) -> None:
        """Many requests in one packet are answered in their order."""
        asked = [{**REQUEST, "id": str(n)} for n in range(500)]
        with RawSocket(self.daemon.port) as raw:
            raw.hello(self.daemon.token)
            raw.send(b"".join(map(text, asked)))
            self.assertEqual(
                [raw.receive()["id"] for _ in asked], [a["id"] for a in asked]
            )

    def test_nothing_follows_a_close(self) -> None:
        """What a peer sends after its close frame is not read."""
        late = frame(TEXT, ASKED) + frame(PING, b"x")
        end = self.ended([close_frame(1000) + late])
        self.assertEqual((end.code, end.before), (1000, []))
