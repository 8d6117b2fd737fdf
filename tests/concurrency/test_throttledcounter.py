from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.concurrency.throttledcounter import ThrottledCounter


class TallyTests(SynchronousTestCase):
    def test_the_rest(self) -> None:
        """At the end the rest is reported, once, and what comes later at once."""
        clock = Clock()
        printed: list[int] = []
        tally = ThrottledCounter(clock, printed.append)
        for _ in range(3):
            tally.add(1)
        tally.flush()
        tally.flush()
        self.assertEqual(printed, [1, 2])
        tally.add(2)
        clock.advance(1)
        self.assertEqual(printed, [1, 2, 2])
        tally.add(2)
        tally.close()
        tally.add(3)
        self.assertEqual(printed, [1, 2, 2, 2, 3])
        self.assertEqual(clock.getDelayedCalls(), [])
