"""A small part of the comparison that ``python -m tests.compiler_diff`` makes."""

from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from . import comparing
from .comparing import building, compare
from .programs import Program, disguised, honest

DISGUISED = 400
HONEST = 100


class ComparisonTests(SynchronousTestCase):
    """Programs that are random, but the same in every run."""

    def test_attack_disguises(self) -> None:
        """Whatever is live in the real bundle has been found."""
        with building() as build:
            tally = compare(build, disguised, range(DISGUISED))
        self.assertEqual([miss.report for miss in tally.misses], [])
        # Otherwise nothing would have been compared.
        self.assertGreater(tally.live, DISGUISED // 2)
        self.assertLess(tally.refused, DISGUISED // 10)

    def test_honest(self) -> None:
        """Programs without a listed construct are accepted."""
        with building() as build:
            tally = compare(build, honest, range(HONEST))
        self.assertEqual([miss.report for miss in tally.misses], [])
        self.assertLess(tally.refused, HONEST // 10)

    def test_misses(self) -> None:
        """What the scan does not find is a miss, as is what it finds in vain."""
        for make, rules, reported in (
            (disguised, [], "live, not found"),
            (honest, [(1, "eval")], "honest | reported: eval"),
        ):
            hits = mock.patch.object(
                comparing,
                "every_hit",
                lambda files, rules=rules: dict.fromkeys(files, rules),
            )
            with building() as build, hits:
                tally = compare(build, make, range(20))
            self.assertGreater(len(tally.misses), 10)
            self.assertIn(reported, tally.misses[0].report)


class BuildTests(SynchronousTestCase):
    """What the real build keeps, and what it drops."""

    def test_live(self) -> None:
        """A free name and an imported file are; a declared name and a type are not."""
        for code, mark, live in (
            ("f(fetch, eval)", "MARK7_fetch", True),
            ("f(fetch, eval)", "MARK7_eval", True),
            ("export const g = (fetch: any) => f(fetch)", "MARK7_fetch", False),
            ("type T = typeof fetch; f()", "MARK7_fetch", False),
            ("import '../outside'", "MARK7outside", True),
            ("import './some.test'", "MARK7testfile", True),
        ):
            with building() as own:
                (bundle,) = own.bundles([Program(".ts", code, code, ())], [False])
            self.assertEqual(mark.lower() in bundle, live, code)
