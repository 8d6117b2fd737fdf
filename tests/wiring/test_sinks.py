"""Tests for bridge.wiring.sinks."""

import subprocess
import sys
from pathlib import Path

from twisted.internet.defer import execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bridge.settings.values import Address
from bridge.sinks.fanout import ISink
from bridge.sinks.parts import SinkParts
from bridge.wiring.sinks import SINKS, chosen, make_sink


class SinksTests(SynchronousTestCase):
    """Tests for choosing and making."""

    def test_each_makes_what_it_is_named(self):
        """What ships is in order, and each is the sink of its name."""
        self.assertEqual(
            list(SINKS), ["overlay", "freedesktop", "xsoverlay", "ovrtoolkit"]
        )
        parts = SinkParts(
            Clock(), Address("127.0.0.1", 1), "Sample", None, "", Path("/none"), execute
        )
        for name in SINKS:
            sink = make_sink(name, parts)
            self.assertTrue(verifyObject(ISink, sink))
            self.assertEqual(sink.name, name)
            self.assertFalse(sink.has_started)

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
