"""Reading files of trees that others made."""

from __future__ import annotations

import os
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.tree.files import (
    NotRegularError,
    TooLargeError,
    open_regular,
    read_bounded,
    shown,
)

from ...directories import fresh_directory


class ReadingTests(SynchronousTestCase):
    """What may be read, and how much of it."""

    def setUp(self):
        """Make a directory."""
        self.root = fresh_directory(self)

    def test_a_file(self):
        """A file no larger than the limit is read whole."""
        (self.root / "a").write_bytes(b"12345")
        self.assertEqual(read_bounded(self.root / "a", 5), b"12345")

    def test_pieces(self):
        """A file is read to its end, whatever size it is said to have."""
        (self.root / "a").write_bytes(b"12345")
        real = os.read
        with mock.patch.object(os, "read", lambda fd, count: real(fd, min(count, 2))):
            self.assertEqual(read_bounded(self.root / "a", 5), b"12345")
            with self.assertRaises(TooLargeError):
                read_bounded(self.root / "a", 4)

    def test_attack_large_file(self):
        """A file over the limit is refused."""
        (self.root / "a").write_bytes(b"123456")
        with self.assertRaises(TooLargeError):
            read_bounded(self.root / "a", 5)

    def test_missing(self):
        """A file that is not there is distinguished from one that may not be read."""
        with self.assertRaises(FileNotFoundError):
            read_bounded(self.root / "a", 5)

    def test_attack_link(self):
        """A link is refused, wherever it leads."""
        (self.root / "a").write_bytes(b"1")
        for target in ("a", "nowhere"):
            with self.subTest(target):
                (self.root / "link").symlink_to(target)
                with self.assertRaises(NotRegularError):
                    open_regular(self.root / "link")
                (self.root / "link").unlink()

    def test_attack_pipe(self):
        """A named pipe is refused, and nobody waits for its writer."""
        os.mkfifo(self.root / "pipe")
        with self.assertRaises(NotRegularError):
            open_regular(self.root / "pipe")

    def test_directory(self):
        """A directory is not a file."""
        with self.assertRaises(NotRegularError):
            open_regular(self.root)


class ShownTests(SynchronousTestCase):
    """How a file's name is repeated."""

    def test_attack_terminal(self):
        """What moves a cursor or turns text around is left out; the rest is not."""
        self.assertEqual(shown("src/\x1b[2Ja\u202e\u2028é\udcff.ts\n"), "src/[2Jaé.ts")

    def test_length(self):
        """A long name is cut."""
        self.assertEqual(len(shown("a" * 5000)), 200)
