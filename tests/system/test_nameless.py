"""Files without a name, that a program runs from."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path
from typing import Any
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.system.nameless import PLACES, finish, in_memory, on_disk, path_of

from ..directories import fresh_directory

SCRIPT = b"#!/bin/sh\necho it runs\n"


class NamelessTests(SynchronousTestCase):
    """What can be done with such a file, wherever it is."""

    def setUp(self) -> None:
        """Make a directory of a file system."""
        self.directory = fresh_directory(self)

    def made(self, place: Any, directory: Path | None = None) -> int:
        """Make a file with a program in it, finished."""
        fd = place(directory or self.directory)
        os.write(fd, SCRIPT)
        reading = finish(fd)
        self.addCleanup(os.close, reading)
        return reading

    def test_runs(self) -> None:
        """A program runs from it, and the directory is empty."""
        for place in PLACES:
            output = subprocess.check_output([path_of(self.made(place))])
            self.assertEqual(output, b"it runs\n")
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_private(self) -> None:
        """Nobody else may read the one on the disk, and its owner not write to it."""
        found = os.fstat(self.made(on_disk))
        self.assertEqual((found.st_mode & 0o777, found.st_nlink), (0o500, 0))

    def test_attack_written_by_its_descriptor(self) -> None:
        """The descriptor that is left can't be written to."""
        for place in PLACES:
            fd = self.made(place)
            with self.assertRaises(OSError) as caught:
                os.write(fd, b"x")
            self.assertEqual(caught.exception.errno, errno.EBADF)

    def test_attack_given_a_name(self) -> None:
        """The file on the disk can't get a name, by which others would find it."""
        fd = self.made(on_disk)
        with self.assertRaises(OSError):
            os.link(path_of(fd), self.directory / "name", follow_symlinks=True)
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_attack_change_in_memory(self) -> None:
        """The one in memory is changed by nobody, not even its owner."""
        with open(path_of(self.made(in_memory)), "r+b", buffering=0) as file:
            for change in (lambda: file.write(b"x"), lambda: file.truncate(0)):
                with self.assertRaises(PermissionError):
                    change()

    def test_file_that_cannot_be_sealed(self) -> None:
        """As in a file system in memory, which has seals, but not for its files."""
        output = subprocess.check_output([path_of(self.made(self.unsealable))])
        self.assertEqual(output, b"it runs\n")

    def unsealable(self, _: Path) -> int:
        """Make a file in memory; see ``Place``."""
        return os.memfd_create("unsealable", os.MFD_CLOEXEC)

    def test_where_nothing_may_run(self) -> None:
        """A file system that runs no programs has no room for one."""
        found = mock.Mock(f_flag=os.ST_NOEXEC)
        with mock.patch("os.statvfs", return_value=found):
            self.assertRaises(PermissionError, on_disk, self.directory)

    def test_last_room(self) -> None:
        """It takes none of the last 256 MiB of a disk."""
        for free, there in ((2**16 - 1, False), (2**16, True)):
            found = mock.Mock(f_flag=0, f_bavail=free, f_frsize=4096)
            with mock.patch("os.statvfs", return_value=found):
                if there:
                    os.close(on_disk(self.directory))
                else:
                    self.assertRaises(OSError, on_disk, self.directory)

    def test_preferred(self) -> None:
        """The disk comes first: the system can free the memory it takes."""
        self.assertEqual(PLACES, (on_disk, in_memory))

    def test_without_proc(self) -> None:
        """Where descriptors have no paths, the file can't be finished."""
        fd = in_memory(self.directory)
        self.addCleanup(os.close, fd)
        with mock.patch("bridge.system.nameless.path_of", return_value="/no/proc"):
            self.assertRaises(OSError, finish, fd)

    def test_older_kernels(self) -> None:
        """Where the flag for running is unknown, it is left out."""
        real, flags = os.memfd_create, []

        def create(name: str, given: int) -> int:
            flags.append(given)
            if len(flags) == 1:
                raise OSError(errno.EINVAL, "")
            return real(name, given)

        with mock.patch("os.memfd_create", create):
            os.close(in_memory(self.directory))
        self.assertNotEqual(flags[0], flags[1])

    def test_kernels_that_refuse(self) -> None:
        """Where no file in memory may run, there is none."""
        for code in (errno.EACCES, errno.EINVAL):
            with mock.patch("os.memfd_create", side_effect=OSError(code, "")):
                self.assertRaises(OSError, in_memory, self.directory)
