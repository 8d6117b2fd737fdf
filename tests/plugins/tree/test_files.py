"""Reading files of trees that others made."""

from __future__ import annotations

import os
import stat
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.tree.files import (
    NotRegularError,
    State,
    TooLargeError,
    open_regular,
    read_bounded,
    shown,
    state_of,
)

from ...directories import fresh_directory


class ReadingTests(SynchronousTestCase):
    """What may be read, and how much of it."""

    def setUp(self):
        """Make a directory."""
        self.root = fresh_directory(self)

    def test_pieces(self):
        """A file is read to its end, whatever size it is said to have."""
        (self.root / "a").write_bytes(b"12345")
        real = os.read
        with mock.patch.object(os, "read", lambda fd, count: real(fd, min(count, 2))):
            self.assertEqual(read_bounded(self.root / "a", 5), b"12345")
            with self.assertRaises(TooLargeError):
                read_bounded(self.root / "a", 4)
        with self.assertRaises(TooLargeError):
            read_bounded(self.root / "a", 4)

    def test_missing(self):
        """A file that is not there is distinguished from one that may not be read."""
        with self.assertRaises(FileNotFoundError):
            read_bounded(self.root / "a", 5)

    def test_attack_not_regular(self):
        """A link, a directory and a pipe are refused, whose writer nobody waits for."""
        (self.root / "a").write_bytes(b"1")
        (self.root / "link").symlink_to("a")
        (self.root / "dangling").symlink_to("nowhere")
        os.mkfifo(self.root / "pipe")
        for name in ("link", "dangling", "pipe", "."):
            with self.assertRaises(NotRegularError, msg=name):
                open_regular(self.root / name)


class StateTests(SynchronousTestCase):
    """What a look at a file shows of its changes."""

    def state(self, **fields: int) -> State:
        """The state of a file of these fields."""
        known = {
            "st_mode": stat.S_IFREG | 0o600,
            "st_uid": 1000,
            "st_gid": 1000,
            "st_dev": 1,
            "st_ino": 2,
            "st_size": 3,
            "st_mtime_ns": 4,
            "st_ctime_ns": 5,
        }
        return state_of(mock.Mock(spec_set=list(known), **{**known, **fields}))

    def test_file(self) -> None:
        """Each field counts."""
        for name in ("uid", "gid", "dev", "ino", "size", "mtime_ns", "ctime_ns"):
            self.assertNotEqual(self.state(**{f"st_{name}": 9}), self.state(), name)
        opened = stat.S_IFREG | 0o666
        self.assertNotEqual(self.state(st_mode=opened), self.state())

    def test_directory(self) -> None:
        """Its number may change by itself, as in file systems in layers."""
        folder = {"st_mode": stat.S_IFDIR | 0o700}
        for name in ("dev", "ino"):
            other = self.state(**folder, **{f"st_{name}": 9})
            self.assertEqual(other, self.state(**folder))
        self.assertNotEqual(self.state(**folder, st_ctime_ns=9), self.state(**folder))


class ShownTests(SynchronousTestCase):
    """How a file's name is repeated."""

    def test_attack_terminal(self):
        """What moves a cursor or turns text around is left out; a long one is cut."""
        self.assertEqual(shown("src/\x1b[2Ja\u202e\u2028é\udcff.ts\n"), "src/[2Jaé.ts")
        self.assertEqual(len(shown("a" * 5000)), 200)
