"""Tests for ``bridge.system.files``."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.system.files import BINARY, NO_LINK, NO_WAIT, make_private, sync_directory


class FilesTests(SynchronousTestCase):
    """Tests for opening files, and for their modes."""

    def test_link(self) -> None:
        """A symbolic link is refused."""
        link = Path(self.mktemp())
        link.symlink_to("/dev/null")
        flags = os.O_RDONLY | NO_LINK | BINARY
        self.assertRaises(OSError, os.open, link, flags)

    def test_pipe(self) -> None:
        """To open a pipe without a writer does not wait."""
        pipe = self.mktemp()
        os.mkfifo(pipe)
        os.close(os.open(pipe, os.O_RDONLY | NO_WAIT))

    def test_private(self) -> None:
        """Only the owner may read and write; a system without modes changes nothing."""
        path = Path(self.mktemp())
        path.touch(0o644)
        path.chmod(0o644)
        fd = os.open(path, os.O_RDWR)
        self.addCleanup(os.close, fd)
        with mock.patch.object(os, "name", "nt"):
            make_private(fd)
        self.assertEqual(path.stat().st_mode & 0o777, 0o644)
        make_private(fd)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)

    def test_directory(self) -> None:
        """A directory that is not there cannot be synced; on Windows none needs to."""
        gone = Path(self.mktemp())
        self.assertRaises(OSError, sync_directory, gone)
        with mock.patch.object(os, "name", "nt"):
            sync_directory(gone)
