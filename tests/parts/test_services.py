"""Tests for bridge.parts.services."""

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.config import read_config
from bridge.options import locate
from bridge.parts import services
from bridge.parts.foundation import Foundation, Threads
from bridge.parts.services import make_sinks
from bridge.rpc.hub import Hub
from bridge.sinks.maker import SinkMaker
from bridge.store import Store
from tests.approval.screens import FakeScreen
from tests.directories import fresh_directory


class SinkTests(SynchronousTestCase):
    """Tests for making the sinks."""

    def names(self, *sinks):
        """Which sinks are made when these are asked for."""
        config = read_config({"sink": list(sinks)}, {})
        directory = fresh_directory(self)
        place = locate("vrcnext", directory / "data", directory / "themes")
        threads = Threads.make(Clock(), 1)
        store = Store.open(place.data.state, threads.disk.call)
        fanout = make_sinks(
            Foundation(Clock(), config, place, threads, store, Hub(), FakeScreen())
        )
        return [sink.name for sink in fanout.sinks]

    def test_chosen(self):
        """The default ones are made, or those that are named, also by an alias."""
        self.assertEqual(self.names(), ["overlay", "freedesktop"])
        self.assertEqual(self.names("ovrtoolkit", "wayvr"), ["overlay", "ovrtoolkit"])

    def test_broken(self):
        """One that can't be made is logged and skipped; the others are made."""
        broken = SinkMaker("broken", "bridge.sinks.nothing.make", is_default=True)
        found = [broken, *services.find()]
        self.patch(services, "find", lambda: found)
        self.assertEqual(self.names(), ["overlay", "freedesktop"])
        self.assertEqual(len(self.flushLoggedErrors(ModuleNotFoundError)), 1)
