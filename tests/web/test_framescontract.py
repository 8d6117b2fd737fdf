"""What is answered to frames, here in memory, in tests/e2e by TCP."""

import contextlib
import json
import os
from typing import Any, Final

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import FRAME_BYTES, HELLO_FRAME_BYTES
from bridge.protocol.strictjson import dumps

from ..protocol.test_frames import PUSHED, UNANSWERED, UNDER_THE_ID
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
from .stack import TOKEN, MemorySocket, Stack

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


LARGEST: Final = padded(FRAME_BYTES)

# What is read as one message: the pieces as they are sent.
ANSWERED: dict[str, list[bytes]] = {
    "one frame": [frame(TEXT, ASKED)],
    "a byte at a time": [bytes([byte]) for byte in frame(TEXT, ASKED)],
    "two messages at once": [frame(TEXT, ASKED) + frame(PONG, b"unasked")],
    "length in 7 bits": [frame(TEXT, padded(125))],
    "length in 16 bits": [frame(TEXT, padded(126))],
    "length in 16 bits, the longest": [frame(TEXT, padded(65535))],
    "length in 64 bits": [frame(TEXT, padded(65536))],
    "as large as may be": [frame(TEXT, LARGEST)],
    "as large as may be, in fragments": fragments(
        *(LARGEST[i : i + 65536] for i in range(0, FRAME_BYTES, 65536))
    ),
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

# What ends the connection after a hello, by how it ends.
CLOSED: dict[tuple[int, str], dict[str, list[bytes]]] = {
    PROTOCOL_ERROR: {
        **{
            f"reserved bits {rsv}": [frame(TEXT, ASKED, rsv=rsv)]
            for rsv in (1, 2, 4, 7)
        },
        "a reserved bit on a ping": [frame(PING, b"x", rsv=1)],
        **{
            f"reserved opcode {opcode}": [frame(opcode, b"x")]
            for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)
        },
        "unmasked": [frame(TEXT, ASKED, mask=False)],
        "unmasked ping": [frame(PING, b"x", mask=False)],
        "continuation of nothing": [frame(CONTINUATION, ASKED)],
        "continuation of what has ended": [
            *fragments(ASKED[:5], ASKED[5:]),
            frame(CONTINUATION, b""),
        ],
        **{
            f"a message {opcode} within a message": [
                frame(TEXT, ASKED, fin=False),
                frame(opcode, ASKED),
            ]
            for opcode in (TEXT, BINARY)
        },
        "fragmented ping": [frame(PING, b"x", fin=False)],
        "ping of 126 bytes": [frame(PING, b"x" * 126)],
        "16 bits for 125": [frame(TEXT, b" " * 125, width=2)],
        "64 bits for 65535": [frame(TEXT, b" " * 65535, width=8)],
        "length with the highest bit": [frame(TEXT, b"", width=8, length=2**63)],
        "close of one byte": [frame(CLOSE, b"\x03")],
        **{
            f"close code {code}": [close_frame(code)]
            for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 2000, 2999, 5000, 65535)
        },
        "more after what is wrong": [
            frame(3) + frame(TEXT, ASKED) * 1000 + close_frame(1000)
        ],
    },
    NOT_UTF8: {
        "close reason that is not UTF-8": [close_frame(1000, b"\xff")],
        "not UTF-8": [frame(TEXT, b"\xff")],
        "a surrogate": [frame(TEXT, b'"\xed\xa0\x80"')],
        "ends within a character": [frame(TEXT, b'"\xc3')],
        "fragments end within a character": fragments(b'"', b"\xe2\x82"),
        # It fails at the first byte that can't be right, not at the end.
        "not UTF-8 in a first fragment": [frame(TEXT, b"\xff", fin=False)],
        "not UTF-8 in a later fragment": [
            frame(TEXT, b"\xe2", fin=False),
            frame(CONTINUATION, b"\x28", fin=False),
        ],
        "not UTF-8 in the half of a frame": [frame(TEXT, b"\xff" * 99)[:40]],
        "a wrong continuation byte": [frame(TEXT, b"\xf4\x90", fin=False)],
    },
    (1003, "text_frames_only"): {
        "binary": [frame(BINARY, ASKED)],
        "binary in fragments": fragments(ASKED[:5], ASKED[5:], opcode=BINARY),
    },
    TOO_LARGE: {
        "said at once": [frame(TEXT, b"", width=8, length=FRAME_BYTES + 1)],
        "too large": [frame(TEXT, b" " * (FRAME_BYTES + 1))],
        "too large in sum": [
            *(
                frame(CONTINUATION if i else TEXT, b" " * 65536, fin=False)
                for i in range(FRAME_BYTES // 65536)
            ),
            frame(CONTINUATION, b" "),
        ],
    },
}

# The same, of a socket that has not sent hello: whatever it is, no hello came.
EARLY: dict[str, list[bytes]] = {
    "over 4 KiB": [frame(TEXT, b" " * (HELLO_FRAME_BYTES + 1))],
    "over 4 KiB, said at once": [
        frame(TEXT, b"", width=2, length=HELLO_FRAME_BYTES + 1)
    ],
    "over 4 KiB in sum": fragments(b" " * HELLO_FRAME_BYTES, b" "),
    "binary": [frame(BINARY, b"x")],
    "not UTF-8": [frame(TEXT, b"\xff")],
    "reserved bits": [frame(TEXT, ASKED, rsv=4)],
    "unmasked": [frame(TEXT, ASKED, mask=False)],
    "a request": [frame(TEXT, ASKED)],
    "TLS": [bytes.fromhex("16030100a5010000a10303") + bytes(160)],
    "HTTP": [b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n"],
}

FIRST: tuple[Any, ...] = (
    *(b"", b"hello", b"{}", b"[]", b"\x00", {"type": "hello", "token": TOKEN}),
    {"type": "hello", "token": TOKEN, "client": "c", "extra": 1},
    {"type": "Hello", "token": TOKEN, "client": "c"},
    {"type": "hello", "token": None, "client": "c"},
    {**REQUEST, "service": "state", "method": "list"},
    {"type": "logs", "records": []},
    {"type": "logs"},
)
"""What is no hello, and comes first."""

WRONG_TOKENS = ("", "x" * 43, "é" * 43, "\U0001f600", TOKEN + "\n", TOKEN.upper())


def written(value: Any) -> bytes:
    """Write a frame; bytes as they are, anything else as JSON."""
    return frame(TEXT, value if type(value) is bytes else dumps(value))


class FramesContract:
    """
    What every daemon answers to frames.

    The test case opens sockets in ``open``, of a daemon that lets everybody in; with
    ``early`` it sends so much with the handshake.
    """

    token: str = TOKEN

    def answers(self, *sent: Any) -> list[Any]:
        """Send frames after a hello, and return what is answered; it stays open."""
        with self.open() as raw:
            raw.hello(self.token)
            raw.send(*map(written, sent))
            return self.received(raw)

    def received(self, raw: RawSocket) -> list[Any]:
        """Return what a socket has received until now, but the daemon's log lines."""
        raw.send(text({**REQUEST, "id": "last"}))
        got = [raw.receive()]
        while got[-1].get("id") != "last":
            got.append(raw.receive())
        return [one for one in got[:-1] if one.get("event") != "log"]

    def ended(self, pieces: list[bytes], hello: bool = True) -> End:
        """Open a socket, send, and read how it ends."""
        with self.open() as raw:
            if hello:
                raw.hello(self.token)
            # What is still being sent when it ends can't be sent any more.
            with contextlib.suppress(ConnectionError):
                raw.send(*pieces)
            return raw.ended()

    def test_answered(self) -> None:
        """However a message is cut into frames and packets, it is one request."""
        for case, pieces in ANSWERED.items():
            with self.open() as raw:
                raw.hello(self.token)
                raw.send(*pieces)
                got = raw.receive()
            self.assertEqual((got["id"], got["ok"]), ("7", False), case)
            self.assertEqual(got["error"]["code"], "unknown_service", case)

    def test_closed(self) -> None:
        """Each violation closes with its code, then ends without a reset."""
        for how, cases in CLOSED.items():
            for case, pieces in cases.items():
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
            with self.open() as raw:
                raw.send(frame(PING, payload))
                self.assertEqual(raw.read(), (PONG, payload))
                raw.hello(self.token)
                first, second = fragments(ASKED[:9], ASKED[9:])
                raw.send(first + frame(PING, payload) + second + frame(PING, b"2"))
                self.assertEqual(raw.read(), (PONG, payload))
                self.assertEqual(raw.receive()["id"], "7")
                self.assertEqual(raw.read(), (PONG, b"2"))

    def test_sent_with_the_handshake(self) -> None:
        """Nothing is lost of what comes before the handshake was answered."""
        hello = {"type": "hello", "token": self.token, "client": "raw/1.0.0"}
        sent = text(hello) + text(REQUEST)
        for cut in (10, len(text(hello)), len(sent)):
            with self.open(early=sent[:cut]) as raw:
                raw.send(sent[cut:])
                self.assertEqual(raw.receive()["type"], "welcome", cut)
                self.assertEqual(raw.receive()["id"], "7", cut)
        with self.open(early=b"GET / HTTP/1.1\r\n\r\n") as raw:
            self.assertEqual(raw.ended().reason, "hello_required")

    def test_order(self) -> None:
        """Many requests in one packet are answered in their order."""
        asked = [{**REQUEST, "id": str(n)} for n in range(500)]
        with self.open() as raw:
            raw.hello(self.token)
            raw.send(b"".join(map(text, asked)))
            self.assertEqual(
                [raw.receive()["id"] for _ in asked], [a["id"] for a in asked]
            )

    def test_nothing_follows_a_close(self) -> None:
        """What a peer sends after its close frame is not read."""
        late = frame(TEXT, ASKED) + frame(PING, b"x")
        end = self.ended([close_frame(1000) + late])
        self.assertEqual((end.code, end.before), (1000, []))

    def test_attack_no_hello(self) -> None:
        """Anything else that comes first is ``hello_required``."""
        for first in FIRST:
            end = self.ended([written(first)], hello=False)
            self.assertEqual((end.code, end.reason), HELLO_REQUIRED, first)
            self.assertEqual(end.before, [], first)

    def test_attack_wrong_token(self) -> None:
        """A wrong token is ``unauthorized``, and nothing that follows is read."""
        for token in WRONG_TOKENS:
            hellos = [
                {"type": "hello", "token": each, "client": "c"}
                for each in (token, self.token)
            ]
            end = self.ended([b"".join(map(written, hellos))], hello=False)
            self.assertEqual((end.code, end.reason), (1008, "unauthorized"), token)
            self.assertEqual(end.before, [], token)

    def test_attack_silence(self) -> None:
        """Five seconds without a frame are ``hello_required``."""
        end = self.ended([], hello=False)
        self.assertEqual((end.code, end.reason), HELLO_REQUIRED)

    def test_longest_hello(self) -> None:
        """A hello may have 4 KiB, after a ping."""
        hello = {"type": "hello", "token": self.token, "client": ""}
        spare = HELLO_FRAME_BYTES - len(dumps(hello))
        with self.open() as raw:
            raw.send(frame(PING), written({**hello, "client": "c" * spare}))
            self.assertEqual(raw.read(), (PONG, b""))
            self.assertEqual(raw.receive()["type"], "welcome")

    def test_refused_under_the_id(self) -> None:
        """A refused frame is answered under its id, whether it is JSON or not."""
        for wrong in UNDER_THE_ID:
            (got,) = self.answers(wrong)
            self.assertEqual(
                (got["type"], got["id"], got["ok"]), ("response", "7", False)
            )
            self.assertEqual(got["error"]["code"], "bad_request")

    def test_refused_without_an_id(self) -> None:
        """Its own socket gets an ``error`` push, and no other one does."""
        second = {"type": "hello", "token": self.token, "client": "c"}
        with self.open() as other:
            other.hello(self.token)
            for wrong in (*PUSHED, second, {**second, "token": "wrong"}):
                (got,) = self.answers(wrong)
                self.assertEqual((got["type"], got["event"]), ("push", "error"))
                self.assertEqual(got["data"]["code"], "bad_request")
            self.assertEqual(self.received(other), [])

    def test_attack_logs_that_are_answered(self) -> None:
        """What was meant as ``logs`` is never answered: it would be logged again."""
        logs = [
            {"type": "logs", "records": value} for value in ([], "x", [{"level": 1}])
        ]
        self.assertEqual(self.answers(*UNANSWERED, *logs), [])

    def test_called(self) -> None:
        """A call is answered; an unknown service and method have a code each."""
        state = {**REQUEST, "service": "state"}
        (good,) = self.answers({**state, "method": "list", "params": {"ns": "x"}})
        answer = {"type": "response", "id": "7", "ok": True, "result": {"entries": {}}}
        self.assertEqual(good, answer)
        for call, code in (
            (state, "unknown_method"),
            ({**state, "service": "nobody"}, "unknown_service"),
            ({**state, "service": "remote", "method": "eval"}, "unknown_service"),
            ({**state, "method": "list", "params": {}}, "bad_request"),
            ({**state, "method": "list", "params": {"ns": "x", "n": 1}}, "bad_request"),
        ):
            (got,) = self.answers(call)
            self.assertEqual((got["id"], got["error"]["code"]), ("7", code))


class MemoryTests(FramesContract, SynchronousTestCase):
    def setUp(self) -> None:
        self.stack = Stack(dev=False, rate=1e6, burst=10**6, requests=(1e6, 10**6))
        self.stack.add_state()

    def open(self, *, early: bytes = b"") -> RawSocket:
        return RawSocket(42081, early=early, connection=MemorySocket(self.stack))
