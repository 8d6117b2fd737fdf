"""The log lines of a plugin, in the terminal of its author."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.developing.pluginlog import POLL_SECONDS, PluginLog

from ...directories import fresh_directory

LINE = "2026-01-01T00:00:00.000Z {} [{}] {}\n"


class PluginLogTests(SynchronousTestCase):
    """Tests for following the log of one plugin."""

    def setUp(self):
        """Name the file."""
        self.path = fresh_directory(self) / "plugins.log"
        self.clock = Clock()
        self.shown: list[str] = []
        self.log = PluginLog(self.path, self.clock)
        self.addCleanup(self.log.stop)

    def write(self, level, scope, message):
        """Add a line to the file."""
        with self.path.open("a") as file:
            file.write(LINE.format(level, scope, message))

    def follow(self):
        """Follow the lines of the plugin ``mine``."""
        self.log.follow("mine", self.shown.append)

    def look(self):
        """Let time pass; return what was shown since."""
        self.clock.advance(POLL_SECONDS)
        shown, self.shown[:] = list(self.shown), []
        return shown

    def test_new_lines_of_the_plugin(self):
        """Only what the plugin logs from now on is shown, as visible characters."""
        self.write("INFO ", "mine", "before")
        self.follow()
        self.write("INFO ", "mine", "one\x1b[2J")
        self.write("WARN ", "other", "two")
        self.write("ERROR", "mine", "three")
        with self.path.open("a") as file:
            file.write("somebody else's line\n")
        self.assertEqual(self.look(), ["info  one", "error three"])
        self.assertEqual(self.look(), [])

    def test_no_file_yet(self):
        """The file may come later."""
        self.follow()
        self.assertEqual(self.look(), [])
        self.write("DEBUG", "mine", "first")
        self.assertEqual(self.look(), ["debug first"])

    def test_followed_once(self):
        """Another build does not show the lines twice."""
        self.follow()
        self.follow()
        self.write("INFO ", "mine", "one")
        self.assertEqual(self.look(), ["info  one"])

    def test_unreadable(self):
        """What is no log file is reported once."""
        self.path.mkdir()
        self.follow()
        (line,) = self.look()
        self.assertIn("the plugin's log lines are not shown", line)
        self.assertEqual(self.look(), [])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_becomes_unreadable(self):
        """A file that is replaced by something else ends it, with a reason."""
        self.follow()
        self.path.mkdir()
        (line,) = self.look()
        self.assertIn("the plugin's log lines are not shown", line)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_stopped(self):
        """It can be stopped before it began."""
        self.log.stop()
        self.follow()
        self.log.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])
