"""Reading files of trees that others made."""

import os
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.tree import files

from ...directories import fresh_directory


class ReadingTests(SynchronousTestCase):
    def setUp(self):
        self.root = fresh_directory(self)

    def test_pieces(self):
        """A file is read to its end, whatever size it is said to have."""
        (self.root / "a").write_bytes(b"12345")
        real = os.read
        with mock.patch.object(os, "read", lambda fd, count: real(fd, min(count, 2))):
            self.assertEqual(files.read_bounded(self.root / "a", 5), b"12345")
            self.assertRaises(
                files.TooLargeError, files.read_bounded, self.root / "a", 4
            )
        self.assertRaises(files.TooLargeError, files.read_bounded, self.root / "a", 4)
        self.assertRaises(FileNotFoundError, files.read_bounded, self.root / "b", 4)

    def test_attack_not_regular(self):
        """A link, a directory and a pipe are refused, whose writer nobody waits for."""
        (self.root / "a").write_bytes(b"1")
        (self.root / "link").symlink_to("a")
        (self.root / "dangling").symlink_to("nowhere")
        os.mkfifo(self.root / "pipe")
        for name in ("link", "dangling", "pipe", "."):
            with self.assertRaises(files.NotRegularError, msg=name):
                files.open_regular(self.root / name)


class ShownTests(SynchronousTestCase):
    """How a file's name is repeated."""

    def test_attack_terminal(self):
        """What moves a cursor or turns text around is left out; a long one is cut."""
        self.assertEqual(
            files.shown("src/\x1b[2Ja\u202e\u2028é\udcff.ts\n"), "src/[2Jaé.ts"
        )
        self.assertEqual(len(files.shown("a" * 5000)), 200)
