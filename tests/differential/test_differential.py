"""A small part of the comparison that ``python -m tests.differential`` makes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from . import comparing
from .building import Build
from .choices import Choices, smallest
from .comparing import Tally, comparison, total
from .constructs import WORDS, expect
from .programs import Program, disguised, honest

DISGUISED = 400
HONEST = 100


def program(scanned: str, built: str, rule: str, *marks: str) -> Program:
    """A program that no choices were made for."""
    return Program(".ts", scanned, built, (expect(rule, *marks),), ())


@contextmanager
def build() -> Iterator[Build]:
    """A place to build programs in."""
    with tempfile.TemporaryDirectory() as scratch:
        yield Build(Path(scratch) / "build")


class ComparisonTests(SynchronousTestCase):
    """Programs that are random, but the same in every run."""

    def test_attack_disguises(self) -> None:
        """Whatever is live in the real bundle has been found."""
        with comparison() as comparing:
            comparing.disguised(range(DISGUISED))
            tally = comparing.tally
            self.assertEqual([miss.report for miss in tally.misses], [])
        # Otherwise nothing would have been compared.
        self.assertGreater(tally.live, DISGUISED // 2)
        self.assertLess(tally.refused, DISGUISED // 10)

    def test_honest(self) -> None:
        """Programs without a listed construct are accepted."""
        with comparison() as comparing:
            comparing.honest(range(HONEST))
            tally = comparing.tally
            self.assertEqual([miss.report for miss in tally.misses], [])
        self.assertLess(tally.refused, HONEST // 10)

    def test_miss(self) -> None:
        """What the scan does not find is a miss, and is made smaller."""
        with (
            comparison() as comparing_,
            mock.patch.object(comparing, "every_hit", lambda files: {}),
        ):
            comparing_.disguised(range(20))
            self.assertGreater(len(comparing_.tally.misses), 10)
            miss = comparing_.tally.misses[0]
            smaller = comparing_.smaller(miss)
        self.assertLess(len(smaller.program.scanned), len(miss.program.scanned))
        self.assertTrue(smaller.missed)
        self.assertIn(f"seed {miss.seed} ", smaller.report)

    def test_refused_honest(self) -> None:
        """An honest program that is refused is a miss, too."""
        with (
            comparison() as comparing_,
            mock.patch.object(
                comparing,
                "every_hit",
                lambda files: {name: [(1, "eval")] for name in files},
            ),
        ):
            comparing_.honest(range(4))
            self.assertIn("honest", comparing_.tally.misses[0].report)

    def test_total(self) -> None:
        """Tallies of several processes add up."""
        tally = total([Tally(1, 2, 3, 4), Tally(10, 20, 30, 40)])
        self.assertEqual(tally, Tally(11, 22, 33, 44))


class BuildTests(SynchronousTestCase):
    """What the real build keeps, and what it drops."""

    def is_live(self, code: str, mark: str) -> bool:
        """Whether a mark is in the bundle of some code."""
        with build() as own:
            one = program(code, code, "", mark)
            (bundle,) = own.bundles([one], [False])
        assert bundle is not None
        return one.expected[0].mark.search(bundle) is not None

    def test_free_names(self) -> None:
        """A free name is marked, and one that is declared is not."""
        for word in WORDS:
            self.assertTrue(self.is_live(f"f({word})", f"MARK7_{word}"), word)
            local = f"export const g = (x: any) => {{ let {word} = x; f({word}) }}"
            if word != "eval":
                self.assertFalse(self.is_live(local, f"MARK7_{word}"), word)

    def test_erased(self) -> None:
        """Types are not in the bundle."""
        self.assertFalse(self.is_live("type T = typeof fetch; f()", "MARK7_fetch"))

    def test_outside(self) -> None:
        """A file that is imported is in the bundle."""
        self.assertTrue(self.is_live("import '../outside'", "MARK7outside"))
        self.assertTrue(self.is_live("import './some.test'", "MARK7testfile"))

    def test_refused(self) -> None:
        """What does not compile has no bundle, and the rest does."""
        codes = ("let", "f(1)", "import {z} from './x'; f(z)", "f(2)")
        programs = [program(code, code, "") for code in codes]
        with build() as own:
            bundles = own.bundles(programs, [False] * 4)
            again = own.bundles(programs, [False, True, True, False])
        self.assertEqual([one is None for one in bundles], [True, False, True, False])
        self.assertEqual([one is None for one in again], [True, True, True, False])


class ProgramTests(SynchronousTestCase):
    """Random programs."""

    def test_same(self) -> None:
        """A seed, and the choices it led to, make the same program."""
        for seed in range(100):
            first = disguised(Choices(seed))
            self.assertEqual(disguised(Choices(seed)), first)
            self.assertEqual(disguised(Choices(0, first.choices)), first)

    def test_marks(self) -> None:
        """Honest programs expect nothing, others something."""
        for seed in range(100):
            self.assertEqual(honest(Choices(seed)).expected, ())
            self.assertTrue(disguised(Choices(seed)).expected)

    def test_lengths(self) -> None:
        """A mark is as long as its word, so that all else stays as it is."""
        for seed in range(100):
            one = disguised(Choices(seed))
            self.assertEqual(
                one.scanned.count("\n"), one.built.count("\n"), one.scanned
            )

    def test_smallest(self) -> None:
        """Choices that do not matter go, and the others become small."""
        least = smallest([5, 9, 7, 3, 8], lambda some: 7 in some, 500)
        self.assertEqual(least, [7])
