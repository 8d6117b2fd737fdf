"""Tests for ``bridge.system.files``."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.system import files as systemfiles
from bridge.system.files import (
    BINARY,
    NO_LINK,
    NO_WAIT,
    make_private,
    meanwhile,
    sync_directory,
    sync_files,
)


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


class SyncingTests(SynchronousTestCase):
    """Files that are synced in other threads."""

    def setUp(self) -> None:
        """Note which files are synced, once the system has."""
        self.synced: list[str] = []
        real = systemfiles.sync_file

        def sync(path: Path | str) -> None:
            real(path)
            self.synced.append(Path(path).name)

        self.patch(systemfiles, "sync_file", sync)
        self.root = Path(self.mktemp())
        self.root.mkdir()
        self.paths = [self.root / name for name in "abc"]
        for path in self.paths:
            path.touch()

    def test_all(self) -> None:
        """However many there are, all are synced when it returns."""
        for count in range(4):
            self.synced.clear()
            sync_files(self.paths[:count])
            self.assertEqual(sorted(self.synced), ["a", "b", "c"][:count])

    def test_while_something_else_is_done(self) -> None:
        """At the end of the body all are synced, in their order."""
        with meanwhile() as begin:
            for path in self.paths:
                begin(systemfiles.sync_file, path)
        self.assertEqual(self.synced, ["a", "b", "c"])

    def test_one_that_cannot_be(self) -> None:
        """That one could not be synced is an error."""
        self.paths.insert(1, self.root / "gone")
        with self.assertRaises(FileNotFoundError), meanwhile() as begin:
            for path in self.paths:
                begin(systemfiles.sync_file, path)
        self.assertEqual(self.synced[0], "a")

    def test_body_that_fails(self) -> None:
        """The body's own error counts; what has not begun is left, and no thread."""
        going, before = threading.Event(), threading.active_count()

        def wait(path: Path) -> None:
            going.wait()
            systemfiles.sync_file(path)

        def fail() -> None:
            with meanwhile() as begin:
                for path in self.paths:
                    begin(wait, path)
                threading.Timer(0.05, going.set).start()
                raise ZeroDivisionError

        self.assertRaises(ZeroDivisionError, fail)
        self.assertEqual(self.synced, ["a"])
        self.assertLessEqual(threading.active_count(), before)

    def test_attack_link(self) -> None:
        """A link in the place of a file is refused."""
        link = self.root / "link"
        link.symlink_to("a")
        self.assertRaises(OSError, sync_files, [link])
        self.assertRaises(OSError, sync_files, [link, *self.paths])
