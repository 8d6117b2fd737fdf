"""Tests for docs/threats.md."""

import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).parents[2]


class ThreatsTests(SynchronousTestCase):
    """Tests for the table of attacks."""

    def test_every_named_test_exists(self):
        """Each row names a test that is there."""
        text = (ROOT / "docs" / "threats.md").read_text("utf-8")
        named = re.findall(r"`(tests/\S+\.py)::(test_\w+)`", text)
        self.assertGreater(len(named), 30)
        for path, name in named:
            source = (ROOT / path).read_text("utf-8")
            self.assertRegex(source, rf"def {name}\(", f"{path}::{name}")
