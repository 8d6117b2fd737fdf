"""Tests for what refers to docs/decisions."""

import re

from twisted.trial.unittest import SynchronousTestCase

from ..npm import ROOT

RECORDS = ROOT / "docs" / "decisions"


class ReferenceTests(SynchronousTestCase):
    """Tests for the records that code and configuration name."""

    def test_every_record_exists(self) -> None:
        """There is exactly one record of each number that is named."""
        files = [ROOT / "setup.cfg"]
        for folder in "bridge", "benchmarks", "tests":
            files += (ROOT / folder).rglob("*.py")
        texts = [path.read_text("utf-8") for path in files]
        named = {n for text in texts for n in re.findall(r"decisions/(\d{4})", text)}
        self.assertGreater(len(named), 10)
        numbers = [path.name[:4] for path in RECORDS.glob("0*.md")]
        self.assertEqual([n for n in sorted(named) if numbers.count(n) != 1], [])
