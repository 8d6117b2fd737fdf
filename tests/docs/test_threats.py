"""Tests for docs/threats.md and docs/refusals.md."""

import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.whole import test_refusals

ROOT = Path(__file__).parents[2]


class NamedTests(SynchronousTestCase):
    """Tests for the tables of attacks and of refusals."""

    def named(self, page: str) -> list[tuple[str, str]]:
        """Give the tests that a page names, which are all there."""
        text = (ROOT / "docs" / page).read_text("utf-8")
        named = re.findall(r"`(tests/\S+\.py)::(\w+)`", text)
        self.assertGreater(len(named), 30)
        for path, name in named:
            source = (ROOT / path).read_text("utf-8")
            self.assertRegex(source, rf"def {name}\(", f"{path}::{name}")
        return named

    def test_every_named_test_exists(self) -> None:
        """Each row of the attacks names a test that is there."""
        self.named("threats.md")

    def test_every_refusal_is_listed(self) -> None:
        """So does each row of the refusals, and every check has a row."""
        named = {name for _, name in self.named("refusals.md")}
        for table in test_refusals.PLAIN, test_refusals.DEV, test_refusals.PACED:
            self.assertLessEqual(set(table), named)
