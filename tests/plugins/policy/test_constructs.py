"""The table of refused constructs."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.constructs import (
    ASSIGNED,
    CALLBACKS,
    MEMBERS,
    ORDER,
    ROOTS,
    RULES,
    TELLING_MEMBERS,
    TIMERS,
    WORDS,
    access_rule,
)


class TableTests(SynchronousTestCase):
    """The table is whole."""

    def test_every_rule_has_a_place(self) -> None:
        """Each name that is a rule by itself stands in the order, once."""
        self.assertEqual(len(ORDER), len(RULES))
        for name in WORDS | MEMBERS | {CALLBACKS}:
            self.assertIn(name, ORDER)
        for name in ASSIGNED:
            self.assertIn(f"{name} assignment", ORDER)
        for name in TIMERS:
            self.assertIn(f"{name} with a string", ORDER)

    def test_accesses(self) -> None:
        """Only some uses of some names are refused."""
        self.assertEqual(access_rule("self", "anything"), "self")
        self.assertEqual(access_rule("parent", "["), "parent")
        self.assertEqual(access_rule("document", "cookie"), "document.cookie")
        self.assertEqual(access_rule("opener", ""), "opener")
        self.assertIsNone(access_rule("parent", "appendChild"))
        self.assertIsNone(access_rule("document", "title"))
        self.assertIsNone(access_rule("self", ""))

    def test_noted_members(self) -> None:
        """Every rule on a root can be reached through a member that is noted."""
        for root in ROOTS - {"self", "process"}:
            rules = {access_rule(root, member) for member in TELLING_MEMBERS}
            self.assertNotEqual(rules, {None}, root)
