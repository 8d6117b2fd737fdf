"""Tests for ``benchmarks.table``."""

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.table import Row, as_text

ROWS = [
    Row("start", 300.0, "ms", 1.3, 250.0, "twistd web"),
    Row("calls", 50.0, "/s", 0.6, 100.0, "aiohttp", more=True),
    Row("memory", 58.5, "MiB", 60),
]


class TableTests(SynchronousTestCase):
    """Tests for the table of a run."""

    def test_goals(self) -> None:
        """A goal is a most, or a least when more is better, of the ratio or value."""
        self.assertEqual([row.met for row in ROWS], [True, False, True])
        self.assertEqual([row.value for row in ROWS], [1.2, 0.5, 58.5])

    def test_text(self) -> None:
        """There is a line for each row, with its ratio, its goal and the result."""
        lines = as_text(ROWS).splitlines()
        self.assertEqual(len(lines), 4)
        self.assertRegex(lines[1], r"^start +300 ms +twistd web +250 +1.20 +≤ 1.3 +yes")
        self.assertRegex(lines[2], r"0.50 +≥ 0.6 +no")
