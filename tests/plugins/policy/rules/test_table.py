"""The table of refused constructs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins import policy
from bridge.plugins.policy.rules import imports, shape
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
    Hit,
    advice,
    word_rule,
)
from bridge.protocol.limits import SOURCE_BYTES, SOURCE_FILES


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


NAMED = {
    *RULES,
    *(imports.TEST_FILE, imports.OUTSIDE, imports.TOOLING),
    *(shape.MINIFIED, shape.PACKED),
    f"more than {SOURCE_FILES} source files",
    f"more than {SOURCE_BYTES} bytes of source",
}


def written_rules() -> Iterator[str]:
    """The rules that modules of the policy write out where they report them."""
    for path in Path(policy.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                found = node.args[2:3] if node.func.id == "Hit" else []
            elif isinstance(node, ast.Yield) and path.stem == "shape":
                found = [node.value] if node.value else []
            else:
                found = []
            for value in found:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield value.value


class AdviceTests(SynchronousTestCase):
    """Every refusal comes with what to do about it."""

    def test_every_rule(self) -> None:
        """Every rule has advice, and there is none for what is no rule."""
        written = set(written_rules())
        self.assertIn("opaque blob", written)
        self.assertEqual(NAMED | written, set(ADVICE))

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


class HitTests(SynchronousTestCase):
    """Reports of hits."""

    def test_place(self) -> None:
        """A hit in a file names the file, the line and the rule."""
        self.assertEqual(Hit("src/a.ts", 3, "eval").report, "src/a.ts:3 eval")

    def test_whole_tree(self) -> None:
        """A hit of the whole tree is the rule's text alone."""
        self.assertEqual(Hit("", 0, "too much").report, "too much")
