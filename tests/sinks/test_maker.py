"""Tests for bridge.sinks.maker and the plugins it finds."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from twisted.internet.defer import execute
from twisted.internet.task import Clock
from twisted.plugin import IPlugin
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

import bridge
from bridge.settings.values import Address
from bridge.sinks.fanout import ISink
from bridge.sinks.maker import ISinkMaker, SinkMaker, SinkParts
from bridge.wiring.sinks import chosen, find
from tests.directories import fresh_directory

FOREIGN = '''"""A sink of another distribution."""

from bridge.sinks.maker import SinkMaker

phone = SinkMaker("phone", "elsewhere.make")
again = SinkMaker("overlay", "elsewhere.make")
'''

NAMES = "from bridge.wiring.sinks import find; print([m.name for m in find()])"


def names(*paths: Path, code: str = NAMES) -> str:
    """Return what a new process finds with these directories on its path."""
    # Not measured: some of what it runs is gone when the report is written.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COV")}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=paths[0],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


class FindTests(SynchronousTestCase):
    """Tests for finding and choosing."""

    def test_shipped(self):
        """What ships is found in order, and each makes what it is named."""
        makers = find()
        self.assertEqual([m.name for m in makers], SHIPPED)
        parts = SinkParts(
            Clock(), Address("127.0.0.1", 1), "Sample", None, "", Path("/none"), execute
        )
        for maker in makers:
            self.assertTrue(verifyObject(ISinkMaker, maker))
            self.assertTrue(verifyObject(IPlugin, maker))
            sink = maker.make(parts)
            self.assertTrue(verifyObject(ISink, sink))
            self.assertEqual(sink.name, maker.name)
            self.assertFalse(sink.has_started)

    def test_chosen(self):
        """The default ones are made when none is named; else exactly those named."""
        makers = find()
        self.assertEqual([m.name for m in chosen(makers, [])], DEFAULT)
        named = chosen(makers, ["ovrtoolkit", "overlay"])
        self.assertEqual([m.name for m in named], ["overlay", "ovrtoolkit"])

    def test_another_distribution(self):
        """A module in another directory adds a sink, and can replace none."""
        directory = fresh_directory(self)
        plugins = directory / "bridge" / "sinks" / "plugins"
        plugins.mkdir(parents=True)
        (plugins / "phone.py").write_text(FOREIGN)
        (plugins / "broken.py").write_text("raise ZeroDivisionError\n")
        found = names(Path(bridge.__file__).parents[1], directory)
        self.assertEqual(found, str([*SHIPPED, "phone"]))

    def test_where_nothing_can_be_written(self):
        """An installation that is read-only is searched all the same."""
        directory = fresh_directory(self)
        shutil.copytree(
            Path(bridge.__file__).parent,
            directory / "bridge",
            ignore=shutil.ignore_patterns("dropin.cache", "__pycache__", "reference"),
        )
        plugins = directory / "bridge" / "sinks" / "plugins"
        (plugins / "dropin.cache").mkdir()  # root may write to any file
        self.assertEqual(names(directory), str(SHIPPED))

    def test_nothing_is_loaded_to_find_them(self):
        """Finding sinks loads none: neither their modules nor what those need."""
        code = (
            "import sys; from bridge.wiring.sinks import find; find(); find();"
            "late = 'autobahn', 'PIL', 'txdbus', 'bridge.sinks.websocket';"
            "print([m for m in sys.modules if m.startswith(late)])"
        )
        self.assertEqual(names(Path(bridge.__file__).parents[1], code=code), "[]")

    def test_a_maker_of_nothing(self):
        """A maker whose function is not there raises when it is used, not before."""
        maker = SinkMaker("x", "bridge.sinks.overlay.nothing")
        self.assertRaises(AttributeError, maker.make, None)


SHIPPED = ["overlay", "freedesktop", "xsoverlay", "ovrtoolkit"]
DEFAULT = ["overlay", "freedesktop"]
