from twisted.trial.unittest import SynchronousTestCase

from benchmarks.table import Row

ROWS = [
    Row("start", 300.0, "ms", 1.3, 250.0, "twistd web"),
    Row("calls", 50.0, "/s", 0.6, 100.0, "a peer", more=True),
    Row("memory", 58.5, "MiB", 60),
]


class TableTests(SynchronousTestCase):
    def test_goals(self) -> None:
        """A goal is a most, or a least when more is better, of the ratio or value."""
        self.assertEqual([row.met for row in ROWS], [True, False, True])
        self.assertEqual([row.value for row in ROWS], [1.2, 0.5, 58.5])
