"""Tests for bridge.protocol.frames."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import frames
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.frames import Hello, Logs, RefusedFrame, Request, read_frame
from bridge.protocol.limits import LENIENT_BYTES, MIB
from bridge.protocol.strictjson import dumps, loads
from bridge.protocol.version import PROTOCOL

from ..strategies import (
    SECRET,
    broken,
    ids,
    loose,
    nested,
    requests,
    secretive,
    texts,
    values,
)


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


class FrameCase(SynchronousTestCase):
    """Reads frames."""

    def refused(self, frame: Any) -> RefusedFrame:
        """Read what must be refused; bytes are taken as they are."""
        text = frame if type(frame) is bytes else json.dumps(frame).encode("ascii")
        got = read_frame(text)
        assert isinstance(got, RefusedFrame), got
        self.assertIs(got.error.code, Code.BAD_REQUEST)
        return got


class HelloTests(FrameCase):
    """Tests for ``hello``."""

    def test_reads(self) -> None:
        """A token and a client, and no more, are a hello."""
        text = dumps({"type": "hello", "token": "t", "client": "c/1.0.0"})
        self.assertEqual(read_frame(text), Hello("t", "c/1.0.0"))

    def test_refused(self) -> None:
        """A missing, further or wrongly typed field is no hello, and has no id."""
        for fields in (
            {"token": "t"},
            {"client": "c"},
            {"token": "t", "client": "c", "id": "1"},
            {"token": 1, "client": "c"},
            {"token": "t", "client": None},
        ):
            got = self.refused({"type": "hello", **fields})
            self.assertEqual((got.id, got.answered), (None, True))


class RequestTests(FrameCase):
    """Tests for ``request``."""

    def test_reads(self) -> None:
        """A request is read; its params stay plain JSON."""
        got = read_frame(dumps(request(params={"a": [1, None]})))
        self.assertEqual(got, Request("1", "state", "get", {"a": [1, None]}))

    def test_params_may_miss(self) -> None:
        """Absent and null params are none."""
        absent = request()
        del absent["params"]
        for frame in (absent, request(params=None)):
            self.assertEqual(read_frame(dumps(frame)), Request("1", "state", "get"))

    def test_names(self) -> None:
        """Digits, hyphens and underscores may be in a name; 64 is its length."""
        for name in ("game_log-2", "2-a", "a" * 64):
            frame = read_frame(dumps(request(service=name, method=name)))
            self.assertEqual(frame, Request("1", name, name))

    def test_bad_field_is_answered_under_the_id(self) -> None:
        """A rule broken alongside a usable id is a response, not an error push."""
        cases: tuple[dict[str, Any], ...] = (
            {"service": "Notify"},
            {"service": "../x"},
            {"service": ""},
            {"service": "a" * 65},
            {"service": "a\n"},
            {"method": 1},
            {"method": "é"},
            {"params": []},
            {"params": "x"},
            {"extra": 1},
        )
        for fields in cases:
            got = self.refused(request(**fields))
            self.assertEqual((got.id, got.answered), ("1", True), fields)

    def test_missing_field_is_answered_under_the_id(self) -> None:
        """So is one that misses a name."""
        for name in ("service", "method"):
            frame = request()
            del frame[name]
            self.assertEqual(self.refused(frame).id, "1")
            self.assertEqual(self.refused(frame).error.message, f"{name}: required")

    def test_unusable_id(self) -> None:
        """An id that breaks its own rule is not answered under."""
        cases: tuple[Any, ...] = ("", "x" * 129, 1, None, ["1"], {}, True)
        for unusable in cases:
            got = self.refused(request(id=unusable))
            self.assertEqual((got.id, got.answered), (None, True), unusable)
        missing = request()
        del missing["id"]
        self.assertIsNone(self.refused(missing).id)

    def test_longest_id(self) -> None:
        """An id of 128 characters is fine, whatever they are."""
        for usable in ("x" * 128, "\U0001f600" * 128, "\x00"):
            frame = read_frame(dumps(request(id=usable)))
            self.assertIsInstance(frame, Request)

    @given(requests)
    @settings(deadline=None)
    def test_any_good_request(self, frame: dict[str, Any]) -> None:
        """Whatever keeps the rules is read as it was meant."""
        self.assertEqual(
            read_frame(dumps(frame)),
            Request(
                frame["id"],
                frame["service"],
                frame["method"],
                frame.get("params") or {},
            ),
        )


class LooseTests(FrameCase):
    """Tests for what is nearly JSON, and meant as a request."""

    def test_answered_under_its_id(self) -> None:
        """A lenient reading finds the id of what no strict one takes."""
        for text in (
            b'{"type":"request","id":"7","service":"a","method":"b","params":NaN}',
            b'{"type":"request","id":"7","x":"\\ud800"}',
            b'{"type":"request","id":"7","x":1e999}',
            b'\xef\xbb\xbf{"type":"request","id":"7"}',
            b'{"type":"request","id":"7","params":' + nested(64) + b"}",
            b'{"type":"request","id":"7"} x',
            b'{"type":"request","id":"7"}{"type":"request","id":"8"}',
            b'{"type":"request","id":"7","x":"a\nb"}',
            b'{"type":"request","id":"7",}',
            b'{"type":"request","id":"7"',
            b'{"id":"7","type":"request","params":{"id":"8"',
        ):
            got = self.refused(text)
            self.assertEqual((got.id, got.answered), ("7", True), text[:60])

    def test_broken_logs_are_not_answered(self) -> None:
        """What was meant as ``logs`` is never answered, however it is broken."""
        for text in (
            b'{"type":"logs","records":[{"message":"a\nb"}],"more":1}',
            b'{"type":"logs","records":[',
        ):
            self.assertFalse(self.refused(text).answered, text)

    def test_depth_is_counted_with_the_frame(self) -> None:
        """The frame's own object is the first of the 64 levels."""
        fine = b'{"type":"request","id":"7","service":"a","method":"b","params":%s}'
        deep = b'{"a":' * 63 + b"1" + b"}" * 63
        self.assertIsInstance(read_frame(fine % deep), Request)
        self.assertEqual(self.refused(fine % (b'{"a":%s}' % deep)).id, "7")

    def test_unusable(self) -> None:
        """What no reading makes an object of has no id."""
        for text in (
            b"",
            b"{",
            b"[" * 100_000,
            b'{"type":"request","id":"\\ud800"}',
            b'{"type":"request","id":"' + b"7" * 129,
            b'["request"]',
            b"NaN",
            b"null",
            b"\xff\xfe{\x00}\x00",
        ):
            got = self.refused(text)
            self.assertEqual((got.id, got.answered), (None, True), text[:40])

    def test_huge_is_not_read_twice(self) -> None:
        """Of what is wrong and large, only the beginning is read a second time."""
        before = b'{"type":"request","id":"7","x":NaN,"y":"%s"}'
        self.assertEqual(self.refused(before % (b"y" * MIB)).id, "7")
        after = b'{"y":"%s","x":NaN,"type":"request","id":"7"}'
        self.assertEqual(self.refused(after % (b"y" * 1000)).id, "7")
        self.assertIsNone(self.refused(after % (b"y" * MIB)).id)

    @given(loose, ids)
    @settings(deadline=None)
    def test_anything_inside(self, value: Any, usable: str) -> None:
        """Whatever accompanies a usable id, the answer carries the id."""
        frame = {"type": "request", "id": usable, "extra": value}
        self.assertEqual(self.refused(frame).id, usable)


class LogsTests(FrameCase):
    """Tests for ``logs``."""

    def test_reads(self) -> None:
        """Records are handed on as they are, whatever they are."""
        for records in ([], [{"level": "info"}], None, "x"):
            frame = {"type": "logs", "records": records}
            self.assertEqual(read_frame(dumps(frame)), Logs(records))

    def test_never_answered(self) -> None:
        """What was meant as logs gets no answer, however wrong: it would loop."""
        for frame in (
            {"type": "logs"},
            {"type": "logs", "records": [], "extra": 1},
            {"type": "logs", "records": [], "id": "1"},
            b'{"type":"logs","records":[NaN],"id":"1"}',
            b'{"type":"logs","records":["%s\\ud800"]}' % (b"x" * LENIENT_BYTES),
        ):
            got = self.refused(frame)
            self.assertEqual((got.id, got.answered), (None, False))

    def test_not_strict(self) -> None:
        """What is wrong with one record, a text cut within a pair, costs no other."""
        for text, records in (
            (b'["a\\ud83d", "b"]', ["a\ud83d", "b"]),
            (b'[{"ts": Infinity}, 1]', [{"ts": float("inf")}, 1]),
            (b'["a\nb"]', ["a\nb"]),
        ):
            frame = b'{"type":"logs","records":%s}' % text
            self.assertEqual(read_frame(frame), Logs(records))


class TotalTests(FrameCase):
    """Tests for all that can come."""

    def test_other_types(self) -> None:
        """What is no frame of ours is refused, and its id is nobody's request."""
        cases: tuple[Any, ...] = (
            {},
            {"type": "welcome", "id": "1"},
            {"type": "Request", "id": "1"},
            {"type": ["request"], "id": "1"},
            {"type": {}, "id": "1"},
            {"type": None},
            [],
            "request",
            1,
            None,
        )
        for frame in cases:
            got = self.refused(frame)
            self.assertEqual((got.id, got.answered), (None, True), frame)

    @given(broken)
    @settings(deadline=None)
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
    @settings(deadline=None)
    def test_never_echoes(self, fields: dict[str, Any], kind: str) -> None:
        """No refusal repeats anything of the frame."""
        got = read_frame(dumps({**fields, SECRET: SECRET, "type": kind}))
        assert isinstance(got, RefusedFrame)
        self.assertNotIn(SECRET, str(got.error))


class WritingTests(SynchronousTestCase):
    """Tests for the frames the daemon sends."""

    def test_shapes(self) -> None:
        """Every frame has exactly the fields a page reads."""
        error = BridgeError(Code.RATE_LIMITED, "wait", 2)
        for text, frame in (
            (
                frames.welcome("1.2.3", {"state": {"summary": "s"}}),
                {
                    "type": "welcome",
                    "version": "1.2.3",
                    "protocol": PROTOCOL,
                    "services": {"state": {"summary": "s"}},
                },
            ),
            (
                frames.response("7", None),
                {"type": "response", "id": "7", "ok": True, "result": None},
            ),
            (
                frames.refusal("7", error),
                {
                    "type": "response",
                    "id": "7",
                    "ok": False,
                    "error": {
                        "code": "rate_limited",
                        "message": "wait",
                        "retryAfter": 2,
                    },
                },
            ),
            (
                frames.push("plugins", {"plugins": []}),
                {"type": "push", "event": "plugins", "data": {"plugins": []}},
            ),
        ):
            self.assertEqual(loads(text), frame)

    def test_no_empty_hint(self) -> None:
        """Without a time to wait there is no ``retryAfter``."""
        fields = frames.error_fields(BridgeError(Code.INTERNAL, "m"))
        self.assertEqual(fields, {"code": "internal", "message": "m"})

    @given(ids, values)
    @settings(deadline=None)
    def test_any_result(self, usable: str, value: Any) -> None:
        """Any id that was accepted and any JSON can be written."""
        self.assertEqual(loads(frames.response(usable, value))["id"], usable)


class DefectTests(SynchronousTestCase):
    """Tests for a bug of ours on the way of a frame."""

    def test_defect(self) -> None:
        """It is answered under the request's id, and kept to be logged."""
        defect = ZeroDivisionError(SECRET)
        with mock.patch.object(frames, "structure", side_effect=defect):
            got = read_frame(dumps(request(id="7")))
        assert isinstance(got, RefusedFrame), got
        self.assertIs(got.error.code, Code.INTERNAL)
        self.assertIs(got.defect, defect)
        self.assertEqual(got.id, "7")
        self.assertNotIn(SECRET, got.error.message)
