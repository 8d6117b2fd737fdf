"""Watching a working tree."""

from __future__ import annotations

import os
from unittest import mock

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.developing import watch as module
from bridge.cli.developing.watch import Watch, snapshot
from bridge.protocol.limits import DEV_POLL_SECONDS

from ...directories import fresh_directory


class WatchTestCase(SynchronousTestCase):
    """A test with a tree."""

    def setUp(self):
        """Write it, and look at it."""
        self.root = fresh_directory(self)
        (self.root / "src").mkdir()
        self.write("main.ts", "1")
        self.write("src/a.ts", "1")

    def write(self, name, content):
        """Write a file."""
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)


class SnapshotTests(WatchTestCase):
    """What is noted of a tree."""

    def test_every_change_is_seen(self):
        """A file that is new, gone, longer, touched or renamed makes a difference."""

        def changes():
            yield lambda: self.write("src/new.ts", "")
            yield (self.root / "src/new.ts").unlink
            yield lambda: self.write("main.ts", "longer")
            yield lambda: os.utime(self.root / "main.ts", ns=(1, 1))
            yield lambda: (self.root / "main.ts").rename(self.root / "b.ts")
            yield lambda: (self.root / "c.ts").symlink_to("b.ts")

        before = snapshot(self.root)
        for change in changes():
            change()
            after = snapshot(self.root)
            self.assertNotEqual(after, before)
            before = after

    def test_ignored(self):
        """What git keeps, and packages, are not looked at."""
        before = snapshot(self.root)
        self.write("node_modules/x.js", "")
        self.write(".git/index", "")
        self.assertEqual(snapshot(self.root), before)

    def test_gone_meanwhile(self):
        """A file that is gone before it is looked at is as if it never was."""
        with mock.patch.object(module.os, "lstat", side_effect=FileNotFoundError):
            self.assertEqual(snapshot(self.root), {})
        self.assertEqual(snapshot(self.root / "nowhere"), {})


class WatchTests(WatchTestCase):
    """When changes are reported."""

    def setUp(self):
        """Begin to watch."""
        super().setUp()
        self.clock = Clock()
        self.reported = 0
        self.taken = True
        self.watch = Watch(self.root, self.clock, self.changed)
        self.watch.start()
        self.addCleanup(self.watch.stop)

    def changed(self):
        """Count."""
        self.reported += 1
        return self.taken

    def look(self, times=1):
        """Let time pass for a look."""
        for _ in range(times):
            self.clock.advance(DEV_POLL_SECONDS)

    def test_once_at_the_beginning(self):
        """The tree is reported once as it is, however long it stays so."""
        self.assertEqual(self.reported, 0)
        self.look(10)
        self.assertEqual(self.reported, 1)

    def test_when_it_is_still(self):
        """While files go on changing, nothing is reported; then once for all."""
        self.look(2)
        for content in ("22", "333", "4444"):
            self.write("main.ts", content)
            self.write("src/a.ts", content)
            self.look()
        self.assertEqual(self.reported, 1)
        self.look(5)
        self.assertEqual(self.reported, 2)

    def test_again_when_it_was_not_taken(self):
        """What could not be sent just now is reported again."""
        self.taken = False
        self.look(3)
        self.assertEqual(self.reported, 3)
        self.taken = True
        self.look(3)
        self.assertEqual(self.reported, 4)

    def test_stopped(self):
        """Nothing is reported after the end, which may come twice, or first."""
        self.watch.stop()
        self.watch.stop()
        self.look(5)
        self.assertEqual(self.reported, 0)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        Watch(self.root, self.clock, self.changed).stop()
