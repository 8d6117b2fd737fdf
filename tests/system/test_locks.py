import errno
import fcntl
import os
import stat
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.system.locks import LockedError, acquire, acquire_directory, is_held

from ..directories import fresh_directory, open_files


class LockTests(SynchronousTestCase):
    def setUp(self):
        self.path = fresh_directory(self) / "lock"

    def test_patience(self):
        """A patient taker waits, and gets the lock when it is free; that has an end."""
        first = acquire(self.path)
        waits: list[float] = []
        self.assertRaises(LockedError, acquire, self.path, 0.2, waits.append)
        self.assertGreaterEqual(sum(waits), 0.2)
        waits.clear()

        def sleep(seconds):
            waits.append(seconds)
            if len(waits) == 3:
                first.release()

        acquire(self.path, 10.0, sleep).release()
        self.assertEqual(len(waits), 3)
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)

    def test_attack_symlink(self):
        """A link in its place is not followed."""
        self.path.symlink_to(self.path.with_name("elsewhere"))
        self.assertRaises(OSError, acquire, self.path)

    def test_attack_removed_file(self):
        """Removing or replacing the file of a held lock frees nothing."""
        first = acquire(self.path)
        self.path.unlink()
        self.assertTrue(is_held(self.path))
        refused = self.assertRaises(LockedError, acquire, self.path)
        self.assertIsNone(refused.pid)
        self.assertFalse(self.path.exists())
        self.path.write_bytes(b"1234567890\n")
        self.assertTrue(is_held(self.path))
        refused = self.assertRaises(LockedError, acquire, self.path)
        self.assertEqual(refused.pid, 1234567890)
        first.release()
        self.assertFalse(is_held(self.path))
        acquire(self.path).release()
        self.assertEqual(self.path.read_text(), f"{os.getpid()}\n")

    def test_attack_pipe(self):
        """A pipe in its place keeps nobody waiting."""
        os.mkfifo(self.path)
        self.assertFalse(is_held(self.path))

    def test_held_without_the_directory(self):
        """A daemon that locked the file alone is respected."""
        with self.path.open("wb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.assertTrue(is_held(self.path))
            self.assertRaises(LockedError, acquire, self.path)
        acquire(self.path).release()

    def test_nothing_stays_open(self):
        """Neither a refusal nor a look leaves a file open."""
        first = acquire(self.path)
        before = open_files()
        self.assertRaises(LockedError, acquire, self.path)
        is_held(self.path)
        self.assertEqual(open_files(), before)
        first.release()
        self.assertEqual(open_files(), before - 2)
        is_held(self.path)
        is_held(self.path.with_name("no"))
        # It can't be written.
        self.assertRaises(OSError, acquire, Path("/dev/full"))
        self.assertEqual(open_files(), before - 2)


class FileSystemTests(SynchronousTestCase):
    def test_nfs(self):
        """It locks exclusively only what is open for writing."""
        path, flock = fresh_directory(self) / "lock", fcntl.flock

        def locked(fd, how):
            if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            flock(fd, how)

        with mock.patch("bridge.system.locks.fcntl.flock", locked):
            with acquire(path):
                self.assertTrue(is_held(path))
            self.assertFalse(is_held(path))

    def test_no_locks_there(self):
        """Without locks everybody gets a directory's, and nobody a file's."""
        path = fresh_directory(self)
        with mock.patch(
            "bridge.system.locks.fcntl.flock", side_effect=OSError(37, "no locks")
        ):
            first, second = acquire_directory(path), acquire_directory(path)
            self.assertRaisesRegex(OSError, "no locks", acquire, path / "lock")
        first.release()
        second.release()
