"""What constant expressions evaluate to."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.literals import (
    TooComplexError,
    branches,
    constant,
    operator,
    strings,
)

from .syntax import expression


class LiteralTests(SynchronousTestCase):
    """Constants and their disguises."""

    def test_constants(self) -> None:
        """Strings put together in any constant way evaluate to their text."""
        for code in (
            "'abc'",
            '"abc"',
            "`abc`",
            "'a' + 'b' + \"c\"",
            "('a' + ('bc'))",
            "`a${'b'}c`",
            "'\\x61\\u0062\\u{63}'",
            "'\\141bc'",
            "'ab\\\nc'",
            "(0, 'abc')",
            "['abc']",
            "'abc' as const",
            "'abc'!",
            "(/* x */ 'abc' /* y */)",
        ):
            self.assertEqual(constant(*expression(code)), "abc", code)

    def test_not_constant(self) -> None:
        """What depends on anything else has no value."""
        for code in ("a", "'a' + b", "`a${b}`", "['a', 'b']", "f('a')", "'a' - 'b'"):
            self.assertIsNone(constant(*expression(code)), code)

    def test_strings(self) -> None:
        """Each string a choice can come to is known."""
        node, page = expression("a ? 'x' : b || ('y' + 'z')")
        self.assertEqual(set(strings(node, page)), {"x", "yz"})

    def test_branches(self) -> None:
        """An assignment's value is its right side's."""
        node, page = expression("(a = b ?? c)")
        self.assertEqual([page.text(each) for each in branches(node, page)], ["c", "b"])

    def test_no_operator(self) -> None:
        """A node without an operator has an empty one."""
        self.assertEqual(operator(expression("a")[0]), "")

    def test_attack_endless(self) -> None:
        """Evaluation gives up when it takes too many steps."""
        node, page = expression("+".join(["'a'"] * 600))
        with self.assertRaises(TooComplexError):
            constant(node, page)
