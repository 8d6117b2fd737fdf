"""Sources made to keep the daemon busy: its own share of the work is bounded."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.javascript.constructs import output_hits
from bridge.plugins.policy.reading import Source
from bridge.protocol.limits import KIB

from ...counting import calls_made
from .hostile import SOURCES, repeated
from .scanning import MARK, read_source, scan_source

CALLS = 30
"""Calls for each byte of output, at most: twice what the worst of them takes."""


class WorkTests(SynchronousTestCase):
    """Calls of functions, for each byte that the bundler writes."""

    def work(self, source: str) -> float:
        """How much work a source is, after the bundler has read it."""
        name, content = "a.tsx", source.encode()
        answer = read_source(name, content)
        given = Source.of(name, content)

        def look() -> None:
            output_hits(given, answer, [], MARK)

        # A deep source is refused after a constant number of steps.
        return calls_made(look) / (len(answer.code) + 64 * KIB)

    def test_attack_every_source(self) -> None:
        """Nothing that is repeated is more work than its size."""
        for name, source in SOURCES.items():
            self.assertLess(self.work(source), CALLS, name)

    def test_everyday_text(self) -> None:
        """What is found to be harmless at a glance takes next to nothing."""
        text = "export function f(a: number): string {\n  return `a${a}`;\n}\n"
        self.assertLess(self.work(text * 300), 0.01)

    def test_twice_the_size(self) -> None:
        """Twice the source is twice the work, not four times."""
        for unit in ("||document", "||document.a"):
            one, two = (self.work("x=a\n" + repeated(unit, n * KIB)) for n in (1, 2))
            self.assertLess(two, 8 * one)


class VerdictTests(SynchronousTestCase):
    """What becomes of them."""

    def rules(self, source: str) -> set[str]:
        """The rules a source breaks."""
        return {hit.rule for hit in scan_source("a.ts", source.encode())}

    def test_attack_nesting(self) -> None:
        """Nesting that nobody writes is refused, wherever it is looked into."""
        for source in (
            "setTimeout(" + "[\n" * 300 + "f" + "]\n" * 300 + ")",
            "x = window[" + "{constructor:\n" * 300 + "1" + "}\n" * 300 + "]",
            "document;x=" + "a ?? (document ||\n(" * 300 + "1" + "))\n" * 300,
        ):
            self.assertEqual(self.rules(source), {"too complex to check"})

    def test_honest_nesting(self) -> None:
        """Nesting that somebody might write is read."""
        source = "a(() => {\n" * 100 + "fetch(u)\n" + "})\n" * 100
        self.assertEqual(self.rules(source), {"fetch"})

    def test_attack_crowds(self) -> None:
        """No crowd hides what is refused."""
        crowd = "f(document.a)\n" * 1_500
        for source in (
            f"const d = document\n{crowd}d.cookie",
            f"{crowd}const d = document\nd.cookie",
            f"x = d => d.cookie\n{crowd}const d = document\nd.cookie",
        ):
            self.assertEqual(self.rules(source), {"document.cookie"})
