"""How hits are reported."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.rules.table import Hit


class HitTests(SynchronousTestCase):
    """Reports of hits."""

    def test_place(self) -> None:
        """A hit in a file names the file, the line and the rule."""
        self.assertEqual(Hit("src/a.ts", 3, "eval").report, "src/a.ts:3 eval")

    def test_whole_tree(self) -> None:
        """A hit of the whole tree is the rule's text alone."""
        self.assertEqual(Hit("", 0, "too much").report, "too much")
