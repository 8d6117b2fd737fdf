import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.frames import Hello, Logs, RefusedFrame, Request, read_frame
from bridge.protocol.limits import JSON_VALUES, MIB
from bridge.protocol.strictjson import dumps

from ..strategies import SECRET, broken, nested, secretive, texts


def request(**fields: Any) -> dict[str, Any]:
    """Build a good request with some fields replaced."""
    return {
        "type": "request",
        "id": "1",
        "service": "state",
        "method": "get",
        "params": {},
        **fields,
    }


ANSWERED = b'{"type":"request","id":"7",'
LONG, MANY = b"x" * MIB, b'"x":[' + b"[]," * JSON_VALUES + b"0]"

READ: tuple[tuple[Any, Any], ...] = (
    ({"type": "hello", "token": "t", "client": "c/1.0.0"}, Hello("t", "c/1.0.0")),
    (request(params={"a": [1]}), Request("1", "state", "get", {"a": [1]})),
    (request(params=None), Request("1", "state", "get")),
    (request(service="game_log-2"), Request("1", "game_log-2", "get")),
    (request(method="a" * 64), Request("1", "state", "a" * 64)),
    (request(id="\U0001f600" * 128), Request("\U0001f600" * 128, "state", "get")),
    ({"type": "logs", "records": [{"level": "info"}]}, Logs([{"level": "info"}])),
    ({"type": "logs", "records": "x"}, Logs("x")),
    # What is wrong with one record, a text cut within a pair, costs no other.
    (b'{"records":["\\ud83d","%s"],"type":"logs"}' % LONG, Logs(["\ud83d", "x" * MIB])),
    (b'{"type":"logs","records":[{"ts":Infinity}]}', Logs([{"ts": math.inf}])),
    (
        b'{"type":"logs","records":[%s,"\\ud83d"]}' % (b"1" * 33),
        Logs([math.inf, "\ud83d"]),
    ),
    (b'{"type":"logs","records":["a\nb"]}', Logs(["a\nb"])),
)
"""Frames, and what they are read as."""

UNDER_THE_ID: tuple[Any, ...] = (
    # A rule is broken alongside a usable id.
    *({**request(id="7"), "service": name} for name in ("Notify", "../x", "", "a\n")),
    request(id="7", service="a" * 65),
    request(id="7", method=1),
    request(id="7", params=[]),
    request(id="7", extra=1),
    {"type": "request", "id": "7", "service": "a"},
    # It is not strict JSON, but a lenient reading finds the id.
    ANSWERED + b'"service":"a","method":"b","params":NaN}',
    ANSWERED + b'"x":"\\ud800"}',
    ANSWERED + b'"x":1e999}',
    b"\xef\xbb\xbf" + ANSWERED + b'"x":1}',
    ANSWERED + b'"params":' + nested(64) + b"}",
    ANSWERED + b'"x":1} x',
    ANSWERED + b'"x":1}{"type":"request","id":"8"}',
    ANSWERED + b'"x":"a\nb"}',
    ANSWERED[:-1],
    b'{"id":"7","type":"request","params":{"id":"8"',
    b'{"y":"%s","x":NaN,"type":"request","id":"7"}' % LONG,
    # Of what has too many values, only the beginning is read.
    ANSWERED + MANY + b"}",
)
"""What is refused, and answered under its id, which is 7."""

PUSHED: tuple[Any, ...] = (
    {"type": "hello", "token": "t"},
    {"type": "hello", "token": "t", "client": "c", "id": "1"},
    {"type": "hello", "token": 1, "client": "c"},
    *(request(id=unusable) for unusable in ("", "x" * 129, 1, None, ["1"], True)),
    {"type": "request", "service": "state", "method": "get"},
    {},
    {"type": "welcome", "id": "1"},
    {"type": "Request", "id": "1"},
    {"type": ["request"], "id": "1"},
    [],
    b"",
    b"{",
    b"[" * 100_000,
    b'{"type":"request","id":"\\ud800"}',
    b'{"type":"request","id":"' + b"7" * 129,
    b"{" + MANY + b',"type":"request","id":"7"}',
)
"""What is refused by a push, since it has no usable id."""

UNANSWERED: tuple[Any, ...] = (
    {"type": "logs"},
    {"type": "logs", "records": [], "extra": 1},
    b'{"type":"logs","records":[],' + MANY + b"}",
    b'{"type":"logs","records":[{"message":"a\nb"}],"more":1}',
    b'{"type":"logs","records":[',
)
"""What was meant as ``logs``: an answer would be logged, and sent, for ever."""


class ReadTests(SynchronousTestCase):
    def read(self, frame: Any) -> Any:
        """Read a frame; bytes are taken as they are."""
        return read_frame(frame if type(frame) is bytes else dumps(frame))

    def test_frames(self) -> None:
        """Each is read as what it is."""
        for frame, expected in READ:
            self.assertEqual(self.read(frame), expected, frame)

    @given(broken)
    def test_any_bytes(self, text: bytes) -> None:
        """Any bytes are a frame or a refusal; nothing is raised."""
        self.assertIsInstance(read_frame(text), Hello | Request | Logs | RefusedFrame)

    @given(
        st.dictionaries(
            st.sampled_from(
                ["id", "service", "method", "params", "token", "client", "records"]
            )
            | texts,
            secretive,
            max_size=6,
        ),
        st.sampled_from(["hello", "request", "logs", SECRET]),
    )
    def test_never_echoes(self, fields: dict[str, Any], kind: str) -> None:
        """No refusal repeats anything of the frame."""
        got = read_frame(dumps({**fields, SECRET: SECRET, "type": kind}))
        assert isinstance(got, RefusedFrame)
        self.assertNotIn(SECRET, str(got.error))
