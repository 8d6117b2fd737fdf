"""Tests for bridge.daemon.filewatch."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from twisted.internet import inotify
from twisted.internet import reactor as installed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.daemon.filewatch import WATCH_SECONDS, FileWatch
from bridge.datadir.paths import write_atomically

from ..directories import fresh_directory
from ..waiting import until

reactor: Any = installed


def write(path: Path) -> None:
    """Change a file in place, as an editor may."""
    path.write_bytes(b"changed")


def link(path: Path) -> None:
    """Put another name of a file there."""
    other = path.with_name("other")
    other.write_bytes(b"linked")
    path.unlink()
    os.link(other, path)


CHANGES = {
    "replaced": lambda path: write_atomically(path, b"replaced"),
    "written": write,
    "linked": link,
    "closed to others": lambda path: path.chmod(0o400),
}


class NotifiedTests(TestCase):
    """Tests with the notifications of the system."""

    def setUp(self) -> None:
        """Watch a file."""
        self.path = fresh_directory(self) / "token"
        self.path.write_bytes(b"first")
        self.changes = 0
        self.watch = FileWatch(reactor, self.path, self.changed)
        self.addCleanup(self.watch.close)

    def changed(self) -> None:
        """Count."""
        self.changes += 1

    def is_changed(self, before: int) -> bool:
        """Whether more changes have been noticed than before."""
        return self.changes > before

    async def test_every_way_to_change_it(self) -> None:
        """Whatever changes the file is noticed; nothing is done in between."""
        self.watch.start()
        self.assertTrue(self.watch.is_notified)
        self.assertEqual(self.changes, 1)
        for change in CHANGES.values():
            before = self.changes
            change(self.path)
            await until(partial(self.is_changed, before), seconds=1)
        self.assertEqual(self.watch._poll, None)

    async def test_other_files(self) -> None:
        """What happens to the others in its directory is not."""
        self.watch.start()
        self.path.with_name("state.json").write_bytes(b"{}")
        write(self.path)
        await until(lambda: self.changes > 1)
        self.assertLessEqual(self.changes, 3)  # the attributes, and the content
        seen = self.changes
        for number in range(20):
            write_atomically(self.path.with_name("state.json"), b"%d" % number)
        write_atomically(self.path, b"last")
        await until(lambda: self.changes > seen)
        self.assertEqual(self.changes, seen + 1)

    async def test_file_that_comes_and_goes(self) -> None:
        """It need not be there."""
        self.path.unlink()
        self.watch.start()
        write_atomically(self.path, b"new")
        await until(lambda: self.changes > 1)

    def test_closed(self) -> None:
        """Nothing of it is left."""
        before = sorted(os.listdir("/proc/self/fd"))
        for _ in range(3):
            self.watch.start()
            self.watch.close()
        self.watch.close()
        self.assertEqual(sorted(os.listdir("/proc/self/fd")), before)

    async def test_directory_that_goes(self) -> None:
        """Without its directory nothing is noticed, and no foreign file is closed."""
        directory = self.path.parent / "inner"
        directory.mkdir()
        watch = FileWatch(reactor, directory / "token", self.changed)
        watch.start()
        notifier = watch._notifier
        directory.rmdir()
        await until(lambda: not notifier.connected)
        self.flushLoggedErrors()
        with self.path.open() as kept:
            watch.close()
            self.assertEqual(kept.read(), "first")

    async def test_failing(self) -> None:
        """A failure of the callback is logged, and ends nothing."""

        def broken() -> None:
            self.changes += 1
            raise ZeroDivisionError

        watch = FileWatch(reactor, self.path, broken)
        self.addCleanup(watch.close)
        watch.start()
        for _ in range(2):
            seen = self.changes
            write_atomically(self.path, b"new")
            await until(partial(self.is_changed, seen))
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 3)

    async def test_no_watches_left(self) -> None:
        """A system that has none left is asked twice a second, and that is logged."""

        def full(*_: Any) -> int:
            raise inotify.INotifyError("no space left on device")

        before = len(os.listdir("/proc/self/fd"))
        self.patch(inotify.INotify, "_addWatch", full)
        self.watch.start()
        self.assertFalse(self.watch.is_notified)
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)
        write_atomically(self.path, b"new")
        await until(lambda: self.changes > 1, seconds=2)


class PolledTests(SynchronousTestCase):
    """Tests on a system that does not notify."""

    def test_looked_at(self) -> None:
        """A change is noticed at the next look, and nothing else is done."""
        path = fresh_directory(self) / "token"
        path.write_bytes(b"first")
        clock, changes = Clock(), []
        watch = FileWatch(clock, path, lambda: changes.append(clock.seconds()))
        watch.start()
        self.assertFalse(watch.is_notified)
        clock.pump([WATCH_SECONDS] * 4)
        self.assertEqual(len(changes), 1)
        for number, change in enumerate(CHANGES.values(), 2):
            change(path)
            clock.advance(WATCH_SECONDS)
            self.assertEqual(len(changes), number)
        path.unlink()
        clock.advance(WATCH_SECONDS)
        self.assertEqual(len(changes), 6)
        watch.close()
        self.assertEqual(clock.getDelayedCalls(), [])
