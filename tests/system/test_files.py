import errno
import os
import shutil
import threading
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.system import files

from ..directories import fresh_directory, write_files


class FilesTests(SynchronousTestCase):
    def test_private(self) -> None:
        """Only the owner may read and write; a system without modes changes nothing."""
        path = fresh_directory(self) / "file"
        path.touch(0o644)
        path.chmod(0o644)
        fd = os.open(path, os.O_RDWR)
        self.addCleanup(os.close, fd)
        with mock.patch.object(os, "name", "nt"):
            files.make_private(fd)
        self.assertEqual(path.stat().st_mode & 0o777, 0o644)
        files.make_private(fd)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)

    def test_directory(self) -> None:
        """A directory that is not there cannot be synced; on Windows none needs to."""
        gone = fresh_directory(self) / "file"
        self.assertRaises(OSError, files.sync_directory, gone)
        with mock.patch.object(os, "name", "nt"):
            files.sync_directory(gone)


class ReadingTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.root = fresh_directory(self)

    def test_pieces(self) -> None:
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

    def test_attack_not_regular(self) -> None:
        """A link, a directory and a pipe are refused, without a wait for a writer."""
        (self.root / "a").write_bytes(b"1")
        (self.root / "link").symlink_to("a")
        (self.root / "dangling").symlink_to("nowhere")
        os.mkfifo(self.root / "pipe")
        for name in ("link", "dangling", "pipe", "."):
            with self.assertRaises(files.NotRegularError, msg=name):
                files.open_regular(self.root / name)


class SyncingTests(SynchronousTestCase):
    """Files that are synced several at once."""

    def setUp(self) -> None:
        self.done: list[str] = []
        self.root = fresh_directory(self)
        self.paths = [self.root / str(number) for number in range(20)]
        for path in self.paths:
            path.write_bytes(b"content")
        fsync = os.fsync

        def sync(fd: int) -> None:
            fsync(fd)
            self.done.append(name_of(fd))

        self.patch(os, "fsync", sync)

    def test_all(self) -> None:
        """All are synced on return, their directory too, and no thread is left."""
        before = threading.active_count()
        for count in (0, 1, 3, 20):
            self.done.clear()
            files.sync_files(self.paths[:count], [str(self.root)])
            expected = {path.name for path in (self.root, *self.paths[:count])}
            self.assertEqual(expected, {*self.done})
            self.assertEqual(len(self.done), count + 1)
        self.assertLessEqual(threading.active_count(), before)

    def test_new_file(self) -> None:
        """It is whole when it is synced."""
        sizes: list[int] = []
        self.patch(os, "fsync", lambda fd: sizes.append(os.fstat(fd).st_size))
        files.write_new(self.root / "new", [b"1", b"2"])
        self.assertEqual(sizes, [2])

    def test_no_more_threads(self) -> None:
        """Where there is no room for a thread, or for some, all are synced even so."""
        start = threading.Thread.start
        for most in (0, 3):
            started: list[threading.Thread] = []

            def begin(thread: threading.Thread) -> None:
                if len(started) == most:  # noqa: B023
                    raise RuntimeError("can't start new thread")
                started.append(thread)  # noqa: B023
                start(thread)

            self.done.clear()
            with mock.patch.object(threading.Thread, "start", begin):
                files.sync_files(self.paths)
            self.assertEqual({path.name for path in self.paths}, {*self.done})

    def test_one_that_cannot_be(self) -> None:
        """That one could not be synced is an error."""
        for paths in (self.paths[:3], self.paths):
            self.assertRaises(
                FileNotFoundError, files.sync_files, [*paths, self.root / "x"]
            )

    def test_attack_link(self) -> None:
        """A link in the place of a file is refused."""
        link = self.root / "link"
        link.symlink_to("0")
        self.assertRaises(OSError, files.sync_files, [link])
        self.assertRaises(OSError, files.sync_files, [link, *self.paths])


class RemovingTests(SynchronousTestCase):
    """What is removed; of which kinds, whoever removes it tests."""

    def test_errors(self) -> None:
        """What can't be removed is an error; that there is nothing is none."""
        path = fresh_directory(self) / "path"
        read_only = OSError(errno.EROFS, os.strerror(errno.EROFS))
        with mock.patch("os.unlink", side_effect=read_only):
            files.remove(path)
            files.remove(Path(__file__) / "path")
        path.mkdir()
        self.patch(os, "rmdir", lambda *_, **__: os.close(-1))
        self.assertRaises(OSError, files.remove, path)
        self.assertTrue(path.is_dir())

    def test_read_only_files(self) -> None:
        """Folders that nobody may write to go like any other, and no link's target."""
        root = fresh_directory(self)
        path, kept = root / "path", root / "kept"
        write_files(root, {"kept": "", "path/src/a.ts": ""})
        (path / "link").symlink_to(kept)
        kept.chmod(0o600)
        (path / "src" / "a.ts").chmod(0o400)
        (path / "src").chmod(0o500)
        really = shutil.rmtree

        # The tests may run as root, whom no mode stops.
        def as_a_user(one: Path) -> None:
            if not os.stat(path / "src").st_mode & 0o200:
                raise PermissionError
            really(one)

        with mock.patch.object(shutil, "rmtree", as_a_user):
            files.remove(path)
        self.assertEqual(os.listdir(root), ["kept"])
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)


def name_of(fd: int) -> str:
    """Return the name of the file that a descriptor has open."""
    return Path(os.readlink(f"/proc/self/fd/{fd}")).name


SCRIPT = b"#!/bin/sh\necho it runs\n"


class NamelessTests(SynchronousTestCase):
    """What can be done with such a file."""

    def made(self) -> int:
        """Make a file with a program in it, finished."""
        fd = files.create_in_memory()
        os.write(fd, SCRIPT)
        reading = files.seal(fd)
        self.addCleanup(os.close, reading)
        return reading

    def test_attack_written_by_its_descriptor(self) -> None:
        """The descriptor that is left can't be written to."""
        error = self.assertRaises(OSError, os.write, self.made(), b"x")
        self.assertEqual(error.errno, errno.EBADF)

    def test_attack_change_in_memory(self) -> None:
        """It is changed by nobody, not even its owner."""
        with open(files.path_of(self.made()), "r+b", buffering=0) as file:
            for change in (lambda: file.write(b"x"), lambda: file.truncate(0)):
                self.assertRaises(PermissionError, change)

    def test_without_proc(self) -> None:
        """Where descriptors have no paths, the file can't be finished."""
        fd = files.create_in_memory()
        self.addCleanup(os.close, fd)
        with mock.patch("bridge.system.files.path_of", return_value="/no/proc"):
            self.assertRaises(OSError, files.seal, fd)

    def test_older_kernels(self) -> None:
        """Where the flag for running is unknown, it is left out."""
        real, flags = os.memfd_create, []

        def memfd_create(name: str, given: int) -> int:
            flags.append(given)
            if len(flags) == 1:
                raise OSError(errno.EINVAL, "")
            return real(name, given)

        with mock.patch("os.memfd_create", memfd_create):
            os.close(files.create_in_memory())
        self.assertNotEqual(flags[0], flags[1])

    def test_kernels_that_refuse(self) -> None:
        """Where no file in memory may run, there is none."""
        for code in (errno.EACCES, errno.EINVAL):
            with mock.patch("os.memfd_create", side_effect=OSError(code, "")):
                self.assertRaises(OSError, files.create_in_memory)
