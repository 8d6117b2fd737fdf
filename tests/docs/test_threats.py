"""Tests for docs/threats.md."""

import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.whole import test_refusals

ROOT = Path(__file__).parents[2]


class NamedTests(SynchronousTestCase):
    """Tests for the tables of attacks and of refusals."""

    def setUp(self) -> None:
        """Read which tests the page names."""
        text = (ROOT / "docs" / "threats.md").read_text("utf-8")
        self.named = re.findall(r"`(tests/\S+\.py)::(\w+)`", text)

    def test_every_named_test_exists(self) -> None:
        """Each row names a test that is there."""
        self.assertGreater(len(self.named), 300)
        for path, name in self.named:
            source = (ROOT / path).read_text("utf-8")
            self.assertRegex(source, rf"def {name}\(", f"{path}::{name}")

    def test_every_refusal_is_listed(self) -> None:
        """Every check of a refusal has a row."""
        named = {name for _, name in self.named}
        for table in test_refusals.PLAIN, test_refusals.DEV, test_refusals.PACED:
            self.assertLessEqual(set(table), named)
