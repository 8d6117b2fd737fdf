"""Tests for bridge.plugins.policy.rules.advice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins import policy
from bridge.plugins.policy.rules import imports, shape
from bridge.plugins.policy.rules.table import ADVICE, RULES, advice
from bridge.protocol.limits import SOURCE_BYTES, SOURCE_FILES

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
