"""Tests for bridge.logs.tally."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.logs.tally import Tally


class TallyTests(SynchronousTestCase):
    """Tests for counting."""

    def test_once_a_second(self) -> None:
        """The first is said at once, what comes within a second with the next."""
        clock = Clock()
        said: list[int] = []
        tally = Tally(clock.seconds, said.append)
        for _ in range(10):
            tally.add(2)
        self.assertEqual(said, [2])
        clock.advance(1.0)
        tally.add(1)
        self.assertEqual(said, [2, 19])
        clock.advance(0.5)
        tally.add(1)
        self.assertEqual(said, [2, 19])
