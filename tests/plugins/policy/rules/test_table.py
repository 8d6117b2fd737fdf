"""The table of refused constructs."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.rules.table import (
    ADVICE,
    ASSIGNED,
    GLOBALS,
    MEMBERS,
    ORDER,
    RULES,
    SCOPED,
    USES,
    WORDS,
    advice,
    word_rule,
)


class RuleTests(SynchronousTestCase):
    """Names and rules."""

    def test_order(self) -> None:
        """Every rule has one place."""
        self.assertEqual(len(ORDER), len(RULES))
        self.assertEqual([ORDER[rule] for rule in RULES], list(range(len(RULES))))

    def test_words(self) -> None:
        """Every name that is refused at each use is a rule of that name."""
        for name in WORDS | SCOPED | MEMBERS:
            self.assertEqual(word_rule(name), name)
            self.assertIn(name, ORDER)
            self.assertIn(name, GLOBALS)
        for name in (*USES, "setTimeout", "innerHTML", "x", ""):
            self.assertIsNone(word_rule(name))

    def test_members(self) -> None:
        """So is every member of the objects of which only some are refused."""
        for name, members in USES.items():
            self.assertIn(name, GLOBALS)
            for member, rule in members.items():
                self.assertEqual(rule, f"{name}.{member}")
                self.assertIn(rule, ORDER)
        for name in ASSIGNED:
            self.assertIn(f"{name} assignment", ORDER)


class AdviceTests(SynchronousTestCase):
    """Every refusal comes with what to do about it."""

    def test_form(self) -> None:
        """Each is one short phrase that a terminal can show."""
        for rule, text in ADVICE.items():
            self.assertTrue(text.isascii() and text.isprintable(), rule)
            self.assertTrue(0 < len(text) <= 120, (rule, len(text)))
            self.assertFalse(text.endswith("."), rule)
            self.assertFalse(text[0].isupper(), rule)

    def test_unknown(self) -> None:
        """A rule of another version, which a daemon may report, has none."""
        self.assertEqual(advice("no such rule"), "")
        self.assertEqual(advice("fetch"), ADVICE["fetch"])
