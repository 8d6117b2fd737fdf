"""What has been found out about a file."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.constructs import CALLBACKS
from bridge.plugins.policy.finding import Finding
from bridge.plugins.policy.scopes import Scope

from .syntax import expression


class FindingTests(SynchronousTestCase):
    """One file's findings."""

    def setUp(self) -> None:
        """Turn to a page with one string on it."""
        self.node, page = expression("'a'")
        self.finding = Finding("src/a.ts", ())
        self.finding.turn(page)

    def test_order(self) -> None:
        """Hits of one line come in the order of the table, each once."""
        for rule in ("process", "eval", "process"):
            self.finding.add(self.node, rule)
        self.finding.text(self.node, "../eslint.config.js")
        self.assertEqual(
            self.finding.hits(),
            [(1, "references a tooling config"), (1, "eval"), (1, "process")],
        )

    def test_accesses(self) -> None:
        """A name is judged when all of the file's aliases are known."""
        self.finding.access(self.node, "d", "cookie")
        self.finding.aliases.bind("d", "document", Scope())
        self.assertEqual(self.finding.hits(), [(1, "document.cookie")])

    def test_long_text(self) -> None:
        """A construct is found wherever it is in a long string."""
        for place in (65_530, 65_536, 131_071):
            finding = Finding("a.ts", ())
            finding.turn(self.finding.page)
            finding.text(self.node, " " * place + "<Script " + CALLBACKS)
            self.assertEqual(len(finding.hits()), 2)

    def test_dismissed(self) -> None:
        """Nodes are left out on one piece only."""
        self.finding.dismiss([self.node, None])
        self.assertTrue(self.finding.is_dismissed(self.node))
        self.finding.turn(self.finding.page)
        self.assertFalse(self.finding.is_dismissed(self.node))
