"""Tests of ``bridge.plugins.clone.transfer``."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.transfer import Received
from bridge.protocol.errors import BridgeError


class ReceivedTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.time = 100.0
        self.progress: list[int] = []
        self.received = Received(100, lambda: self.time, self.progress.append)

    def test_bytes(self) -> None:
        """The limit of received bytes may be reached but not passed."""
        self.received.add(100)
        error = self.assertRaises(BridgeError, self.received.add, 1)
        self.assertEqual(error.message, "clone_failed: more than 100 bytes received")

    def test_progress(self) -> None:
        """Progress is reported at most five times a second."""
        for _ in range(40):
            self.received.add(1)
            self.time += 0.0625
        self.assertEqual(self.progress, list(range(1, 41, 4)))
