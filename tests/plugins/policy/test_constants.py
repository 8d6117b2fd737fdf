"""Names that are given to strings."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy import constants
from bridge.plugins.policy.budget import TooComplexError
from bridge.plugins.policy.constants import (
    ASSIGNMENT,
    MEMBER,
    TAG,
    Constants,
    Use,
    constant_rule,
)
from bridge.plugins.policy.hits import Hit
from bridge.plugins.policy.scan import scan_source
from bridge.plugins.policy.scopes import Scope

from .hostile import ORDINARY_CALLS, calls_made


class ConstantsTests(SynchronousTestCase):
    """Uses of names."""

    def setUp(self) -> None:
        """Have a block in a block."""
        self.constants = Constants()
        self.outer = Scope()
        self.inner = Scope(self.outer)

    def used(self, scope: Scope, place: str = MEMBER) -> set[tuple[int, str]]:
        """Give the hits, once the name is used."""
        self.constants.use(Use("key", place, 1, scope))
        return self.constants.hits()

    def test_given_further_out(self) -> None:
        """A name means what it was given in a block around its use."""
        self.constants.bind("key", "constructor", self.outer)
        self.assertEqual(self.used(self.inner), {(1, "constructor")})

    def test_given_elsewhere(self) -> None:
        """It means nothing of what it was given in another block."""
        self.constants.bind("key", "constructor", self.inner)
        self.assertEqual(self.used(self.outer), set())

    def test_given_anew(self) -> None:
        """It means what it was given last, from within."""
        self.constants.bind("key", "constructor", self.outer)
        self.constants.bind("key", "name", self.inner)
        self.assertEqual(self.used(self.inner), set())

    def test_places(self) -> None:
        """Each place has strings of its own."""
        self.assertEqual(constant_rule(MEMBER, "srcdoc"), "srcdoc")
        self.assertEqual(constant_rule(ASSIGNMENT, "outerHTML"), "outerHTML assignment")
        self.assertEqual(
            constant_rule(TAG, "embed"), "createElement of a code-loading tag"
        )
        self.assertEqual(constant_rule("setTimeout", ""), "setTimeout with a string")
        for place, text in ((MEMBER, "script"), (TAG, "srcdoc"), (ASSIGNMENT, "")):
            self.assertIsNone(constant_rule(place, text))

    def test_too_many(self) -> None:
        """More names or uses than people write are too complex."""
        self.patch(constants, "_MOST_NAMED", 2)
        self.patch(constants, "_MOST_USED", 2)
        for name in ("one", "two"):
            self.constants.bind(name, "x", self.outer)
            self.constants.use(Use(name, TAG, 1, self.outer))
        with self.assertRaises(TooComplexError):
            self.constants.bind("three", "x", self.outer)
        with self.assertRaises(TooComplexError):
            self.constants.use(Use("three", TAG, 1, self.outer))

    def test_attack_deep_blocks(self) -> None:
        """When looking takes too long, a name means all that it ever holds."""
        self.patch(constants, "_STEPS", 1)
        self.constants.bind("key", "constructor", self.inner)
        self.assertEqual(self.used(Scope(Scope(Scope()))), {(1, "constructor")})

    def test_attack_many_uses_in_deep_blocks(self) -> None:
        """Blocks in blocks, with a use in each, are no more work than others."""
        uses = "{f(a[k])}\n" * 9_000
        code = "k = 'constructor'\n" + "{" * 100 + uses + "}" * 100
        hits: list[Hit] = []
        made = calls_made(lambda: hits.extend(scan_source("a.ts", code.encode())))
        self.assertTrue(hits)
        self.assertLess(made / len(code), 3 * ORDINARY_CALLS)
