"""Tests for bridge.concurrency.timers."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.concurrency.timers import Expiring, ThrottledCounter


class ExpiringTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Keep two."""
        self.clock = Clock()
        self.dropped: list[str] = []
        self.kept = Expiring[str](self.clock, 10, self.dropped.append)
        self.kept.keep("a")
        self.clock.advance(4)
        self.kept.keep("b")

    def test_expiry(self) -> None:
        """Each is dropped in its time, unless it was used again or taken."""
        self.kept.keep("c")
        self.kept.take("c")
        self.clock.advance(5)
        self.kept.keep("a")
        self.clock.advance(5)
        self.assertEqual((self.dropped, list(self.kept)), (["b"], ["a"]))
        self.clock.pump([4.9, 0.1])
        self.assertEqual(self.dropped, ["b", "a"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_too_many(self) -> None:
        """The oldest give way; to be used again needs no place."""
        self.kept.keep("a", at_most=2)
        self.kept.keep("c", at_most=2)
        self.assertEqual((self.dropped, list(self.kept)), (["b"], ["c", "a"]))

    def test_close(self) -> None:
        """All are dropped, and no timer is left."""
        self.kept.close()
        self.assertEqual(self.dropped, ["a", "b"])
        self.assertEqual(self.clock.getDelayedCalls(), [])


class ThrottledCounterTests(SynchronousTestCase):
    def test_the_rest(self) -> None:
        """At the end the rest is reported, once, and what comes later at once."""
        clock = Clock()
        printed: list[tuple[str, int]] = []
        counter = ThrottledCounter(clock, lambda *counted: printed.append(counted))
        for kind in "aab":
            counter.add(kind)
        clock.advance(1)
        found = [("a", 1), ("a", 1), ("b", 1)]
        self.assertEqual(printed, found)
        clock.advance(1)
        self.assertEqual(clock.getDelayedCalls(), [])
        counter.add("a", 2)
        clock.advance(1)
        found.append(("a", 2))
        self.assertEqual(printed, found)
        counter.add("a", 2)
        counter.close()
        counter.add("a", 3)
        self.assertEqual(printed, [*found, ("a", 2), ("a", 3)])
        self.assertEqual(clock.getDelayedCalls(), [])
