"""Files in memory, that a program runs from."""

import errno
import os
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.system.nameless import create, finish, path_of

SCRIPT = b"#!/bin/sh\necho it runs\n"


class NamelessTests(SynchronousTestCase):
    """What can be done with such a file."""

    def made(self) -> int:
        """Make a file with a program in it, finished."""
        fd = create()
        os.write(fd, SCRIPT)
        reading = finish(fd)
        self.addCleanup(os.close, reading)
        return reading

    def test_attack_written_by_its_descriptor(self) -> None:
        """The descriptor that is left can't be written to."""
        error = self.assertRaises(OSError, os.write, self.made(), b"x")
        self.assertEqual(error.errno, errno.EBADF)

    def test_attack_change_in_memory(self) -> None:
        """It is changed by nobody, not even its owner."""
        with open(path_of(self.made()), "r+b", buffering=0) as file:
            for change in (lambda: file.write(b"x"), lambda: file.truncate(0)):
                self.assertRaises(PermissionError, change)

    def test_without_proc(self) -> None:
        """Where descriptors have no paths, the file can't be finished."""
        fd = create()
        self.addCleanup(os.close, fd)
        with mock.patch("bridge.system.nameless.path_of", return_value="/no/proc"):
            self.assertRaises(OSError, finish, fd)

    def test_older_kernels(self) -> None:
        """Where the flag for running is unknown, it is left out."""
        real, flags = os.memfd_create, []

        def memfd_create(name: str, given: int) -> int:
            flags.append(given)
            if len(flags) == 1:
                raise OSError(errno.EINVAL, "")
            return real(name, given)

        with mock.patch("os.memfd_create", memfd_create):
            os.close(create())
        self.assertNotEqual(flags[0], flags[1])

    def test_kernels_that_refuse(self) -> None:
        """Where no file in memory may run, there is none."""
        for code in (errno.EACCES, errno.EINVAL):
            with mock.patch("os.memfd_create", side_effect=OSError(code, "")):
                self.assertRaises(OSError, create)
