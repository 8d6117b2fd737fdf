"""Tests for bridge.wiring.sinks."""

import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from bridge.wiring.sinks import chosen


class SinksTests(SynchronousTestCase):
    """Tests for choosing and making."""

    def test_chosen(self):
        """The default ones when none is named; else exactly those named."""
        self.assertEqual(chosen([]), ["overlay", "freedesktop"])
        self.assertEqual(chosen(["ovrtoolkit", "overlay"]), ["overlay", "ovrtoolkit"])

    def test_names_load_nothing(self):
        """Their names load none: neither their modules nor what those need."""
        code = (
            "import sys; from bridge.wiring.sinks import SINKS;"
            "late = 'autobahn', 'PIL', 'txdbus', 'bridge.sinks.overlay';"
            "print([m for m in sys.modules if m.startswith(late)])"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        self.assertEqual(ran.stdout.strip(), "[]")
