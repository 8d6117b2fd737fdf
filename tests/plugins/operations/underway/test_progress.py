"""Tests for ``bridge.plugins.operations.underway.progress``."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.approval import Operation
from bridge.plugins.operations.underway.progress import Progress
from bridge.protocol.steps import Step
from bridge.protocol.wire import unstructure


class StepTests(SynchronousTestCase):
    """Tests for the steps and their record."""

    def test_meanings(self):
        """Each step has words for the reference."""
        self.assertTrue(all(step.meaning for step in Step))

    def test_record(self):
        """A record has these fields, ``id`` and ``ref`` also when they are null."""
        progress = Progress(
            Operation.INSTALL, None, Step.CLONE, "Cloning", "12", None, True
        )
        self.assertEqual(
            unstructure(progress),
            {
                "op": "install",
                "id": None,
                "step": "clone",
                "message": "Cloning",
                "operation": "12",
                "ref": None,
                "cancellable": True,
            },
        )
