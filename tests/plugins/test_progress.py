"""Tests for ``bridge.plugins.progress``."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.approval import Operation
from bridge.plugins.progress import Progress, Step, Throttle
from bridge.protocol.wire import unstructure


class StepTests(SynchronousTestCase):
    """Tests for the steps and their record."""

    def test_meanings(self):
        """Each step has words for the reference."""
        self.assertTrue(all(step.meaning for step in Step))

    def test_record(self):
        """A record has these fields, ``id`` also when it is null."""
        progress = Progress(Operation.INSTALL, None, Step.CLONE, "Cloning")
        self.assertEqual(
            unstructure(progress),
            {"op": "install", "id": None, "step": "clone", "message": "Cloning"},
        )


class ThrottleTests(SynchronousTestCase):
    """Tests for ``Throttle``."""

    def test_at_most_five_a_second(self):
        """However often it is called, a fifth of a second lies between two."""
        clock = Clock()
        delivered = []
        throttle = Throttle.after_now(
            clock.seconds, lambda number: delivered.append((clock.seconds(), number))
        )
        for number in range(1000):
            throttle(number)
            clock.advance(0.01)
        times = [at for at, _ in delivered]
        self.assertTrue(45 <= len(times) <= 50, len(times))
        for one, next_one in zip([0.0, *times], times, strict=False):
            self.assertGreater(next_one - one, 0.199)
