"""Tests of ``bridge.plugins.policy.reader.queries``."""

from __future__ import annotations

import struct
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.esbuild.pins import VERSION
from bridge.plugins.policy.reader import queries as module
from bridge.plugins.policy.reader.encoding import OversizeError, PacketError, response
from bridge.plugins.policy.reader.queries import SourceQueries
from bridge.plugins.policy.reader.transform import (
    Answer,
    Question,
    first_request,
    second_request,
)

from ..scanning import MARK

SOURCES = [Question(f"{n}.ts", f"f({n})".encode()) for n in range(6)]
GREETING = struct.pack("<I", len(VERSION)) + VERSION.encode()


def replied(number: int, code: str) -> bytes:
    """The packet of an answer with a code."""
    return response(number, {"code": code, "map": "{}"})


def number_of(packet: bytes) -> int:
    """The number of a request."""
    return int(struct.unpack_from("<I", packet, 4)[0]) >> 1


class QueriesTests(SynchronousTestCase):
    """Bytes in, bytes out."""

    def test_begin(self) -> None:
        """A few sources are asked at once, the next one after each answer."""
        queries = SourceQueries(SOURCES, MARK)
        sent = queries.begin()
        self.assertEqual([number_of(one) for one in sent], [0, 2, 4, 6])
        self.assertIn(SOURCES[0].content, sent[0])
        self.assertEqual(queries.receive(GREETING), [])
        (more,) = queries.receive(replied(4, "a"))
        self.assertEqual(number_of(more), 8)
        self.assertFalse(queries.is_over)
        self.assertEqual(queries.unanswered, 0)

    @given(st.permutations(range(6)), st.lists(st.integers(1, 40)))
    def test_any_order(self, order: list[int], sizes: list[int]) -> None:
        """Answers are kept in the order of the sources, however they come."""
        queries = SourceQueries(SOURCES, MARK)
        asked = [number_of(one) for one in queries.begin()]
        waiting = GREETING
        while not queries.is_over:
            at = min(asked, key=lambda number: order[number // 2])
            asked.remove(at)
            waiting += replied(at, f"code {at // 2}")
            while waiting:
                size = sizes.pop() if sizes else len(waiting)
                sent = queries.receive(waiting[:size])
                asked += [number_of(one) for one in sent]
                waiting = waiting[size:]
        codes = [answer.code for answer in queries.answers()]
        self.assertEqual(codes, [f"code {n}" for n in range(6)])

    def test_nothing_to_ask(self) -> None:
        """Without sources it is over before it begins."""
        queries = SourceQueries([], MARK)
        self.assertTrue(queries.is_over)
        self.assertEqual(queries.begin(), [])
        self.assertEqual(queries.answers(), [])

    def test_attack_other_versions(self) -> None:
        """Another program, or another version, is found out at once."""
        for greeting in ("0.0.0", "", VERSION + "0"):
            queries = SourceQueries(SOURCES, MARK)
            packet = struct.pack("<I", len(greeting)) + greeting.encode()
            self.assertRaises(PacketError, queries.receive, packet)

    def test_attack_too_much(self) -> None:
        """More output than is allowed is refused before it is kept."""
        queries = SourceQueries(SOURCES, MARK)
        with mock.patch.object(module, "SCAN_OUTPUT_BYTES", 100):
            queries.receive(b"\xff" * 100)
            self.assertRaises(OversizeError, queries.receive, b"\xff")

    def test_attack_unasked_answers(self) -> None:
        """An answer to nothing, and one too short for a number, are refused."""
        for packet in (response(12, {}), response(2**31 - 1, {}), b"\1\0\0\0\0"):
            queries = SourceQueries(SOURCES, MARK)
            queries.receive(GREETING)
            self.assertRaises(PacketError, queries.receive, packet)

    def test_attack_unreadable_answers(self) -> None:
        """An answer that cannot be read is refused when it is needed."""
        queries = SourceQueries(SOURCES[:1], MARK)
        queries.receive(GREETING + b"\5\0\0\0\1\0\0\0\7")
        self.assertTrue(queries.is_over)
        self.assertRaises(PacketError, queries.answers)


class PragmaTests(SynchronousTestCase):
    """Sources that are read twice."""

    SOURCE = Question("a.tsx", b"<b />")

    def queries(self) -> SourceQueries:
        """Queries on one such source, after the greeting."""
        queries = SourceQueries([self.SOURCE], MARK)
        (sent,) = queries.begin()
        self.assertEqual(sent, module.request(0, first_request(self.SOURCE, MARK)))
        queries.receive(GREETING)
        return queries

    def test_second_reading(self) -> None:
        """What the first reading makes of it is read again."""
        queries = self.queries()
        (sent,) = queries.receive(replied(0, "h('b')"))
        second = second_request(Answer("h('b')", "{}"), MARK, False)
        self.assertEqual(sent, module.request(1, second))
        self.assertFalse(queries.is_over)
        self.assertEqual(queries.receive(replied(1, "done")), [])
        self.assertTrue(queries.is_over)
        self.assertEqual(queries.answers(), [Answer("done", "{}")])

    def test_error(self) -> None:
        """What does not compile is not read again."""
        queries = self.queries()
        errors = [{"location": {"line": 3}}]
        queries.receive(response(0, {"errors": errors}))
        self.assertEqual(queries.answers(), [Answer("", "", 3)])
