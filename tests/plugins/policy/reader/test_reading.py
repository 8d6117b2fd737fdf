"""How the sources of a scan are read."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.esbuild.conversation import LimitError
from bridge.plugins.esbuild.executable import BundlerError
from bridge.plugins.policy.reader.reading import TooComplexError, read_sources
from bridge.plugins.policy.reader.transform import (
    Answer,
    Question,
    first_request,
    second_request,
)

from ..scanning import MARK

SOURCES = [Question(f"{n}.ts", f"f({n})".encode()) for n in range(6)]


def answered(code: str) -> dict[str, Any]:
    """An answer with a code."""
    return {"code": code, "map": "{}"}


class Bundler:
    """Notes what it is asked, and answers when a test does."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, Deferred[Any]]] = []

    def ask(self, request: Any) -> Deferred[Any]:
        """See ``Conversation.ask``."""
        waiting: Deferred[Any] = Deferred()
        self.asked.append((request, waiting))
        return waiting


class ReadingTests(SynchronousTestCase):
    """Requests and answers."""

    def setUp(self) -> None:
        """Make a bundler."""
        self.bundler: Any = Bundler()

    def read(self, *questions: Question) -> Deferred[list[Answer]]:
        """Begin to read."""
        return Deferred.fromCoroutine(read_sources(self.bundler, questions, MARK))

    def answer(self, at: int, value: Any) -> None:
        """Answer a request."""
        self.bundler.asked[at][1].callback(value)

    def test_some_at_once(self) -> None:
        """A few sources are asked at once, the next one after each answer."""
        reading = self.read(*SOURCES)
        self.assertEqual(len(self.bundler.asked), 4)
        self.assertEqual(self.bundler.asked[0][0], first_request(SOURCES[0], MARK))
        for at in (2, 4, 0, 5, 3, 1):
            self.assertNoResult(reading)
            self.answer(at, answered(f"code {self.bundler.asked[at][0]['input']}"))
        codes = [one.code for one in self.successResultOf(reading)]
        self.assertEqual(codes, [f"code {one.content!r}" for one in SOURCES])

    def test_nothing_to_read(self) -> None:
        """Without sources it is over before it begins."""
        self.assertEqual(self.successResultOf(self.read()), [])

    def test_second_reading(self) -> None:
        """What the first reading makes of elements is read again."""
        reading = self.read(Question("a.tsx", b"<b />"))
        self.answer(0, answered("h('b')"))
        second = second_request(Answer("h('b')", "{}"), MARK, False)
        self.assertEqual(self.bundler.asked[1][0], second)
        self.answer(1, answered("done"))
        self.assertEqual(self.successResultOf(reading), [Answer("done", "{}")])

    def test_error(self) -> None:
        """What does not compile is not read again."""
        reading = self.read(Question("a.tsx", b"<b"))
        self.answer(0, {"errors": [{"location": {"line": 3}}]})
        self.assertEqual(self.successResultOf(reading), [Answer("", "", 3)])

    def test_attack_limit(self) -> None:
        """Of what was not read within the limits the first one is named."""
        reading = self.read(*SOURCES)
        self.answer(0, answered(""))
        for at in (3, 1, 2, 4):
            self.bundler.asked[at][1].errback(LimitError("too long"))
        error = self.failureResultOf(reading, TooComplexError).value
        self.assertEqual(error.index, 1)

    def test_crash(self) -> None:
        """A bundler that crashed is no fault of any source."""
        reading = self.read(*SOURCES[:1])
        self.bundler.asked[0][1].errback(BundlerError("esbuild crashed: x"))
        error = self.failureResultOf(reading, BundlerError).value
        self.assertEqual(str(error), "esbuild crashed: x")

    def test_attack_unreadable_answers(self) -> None:
        """An answer of another kind is found out."""
        for value in (None, 1, {}, {"code": "x"}, {"code": 1, "map": ""}):
            self.bundler.asked.clear()
            reading = self.read(*SOURCES[:1])
            self.answer(0, value)
            self.failureResultOf(reading, BundlerError)
