"""Tests for bridge.pagelog.pagefile."""

import errno
import os
import stat
from pathlib import Path
from typing import Any
from unittest import mock

from twisted.internet.defer import fail
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.concurrency.threads import NO_THREAD, Pool
from bridge.pagelog import pagefile
from bridge.pagelog.pagefile import LogFileError, LogWriter, PageFile
from bridge.protocol.errors import BridgeError, Code, unavailable
from bridge.protocol.limits import LOG_UNWRITTEN_BYTES, MIB
from tests.directories import fresh_directory, open_all_above, open_files

from ..reactors import reactor


class PageFileCase(SynchronousTestCase):
    """A directory, and a page file in one of its own in it."""

    def setUp(self) -> None:
        self.directory = fresh_directory(self)
        self.path = self.directory / "logs" / "plugins.log"

    def open(self, max_bytes: int = 100) -> PageFile:
        """Open the file; it is closed when the test ends."""
        file = PageFile.open(self.path, max_bytes)
        self.addCleanup(file.close)
        return file

    def refused(self) -> str:
        return str(self.assertRaises(LogFileError, self.open))


class OpenTests(PageFileCase):
    def test_made(self) -> None:
        """Directory and file are made, readable by their owner only."""
        self.addCleanup(os.umask, os.umask(0))
        file = self.open()
        self.assertEqual(stat.S_IMODE(self.path.parent.stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)
        self.assertEqual(file.size, 0)

    def test_found(self) -> None:
        """A file that is there is continued, and made private."""
        self.path.parent.mkdir(mode=0o755)
        self.path.write_bytes(b"before\n")
        self.path.chmod(0o644)
        file = self.open()
        self.assertEqual(file.size, 7)
        file.append(b"after\n")
        self.assertEqual(self.path.read_bytes(), b"before\nafter\n")
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)

    def test_planted_directory_attack(self) -> None:
        """A directory of another user, or open to others, is refused."""
        self.path.parent.mkdir()
        for mode in (0o777, 0o1777):
            self.path.parent.chmod(mode)
            end = "so it is not used; choose another with --log-file"
            self.assertTrue(self.refused().endswith(end))
        self.path.parent.chmod(0o770)
        with mock.patch("bridge.datadir.ownership.is_group_of_one", return_value=False):
            self.assertIn("can be written by other users", self.refused())
        self.path.parent.chmod(0o700)
        self.assert_foreign_refused("lstat", self.path.parent)
        self.directory.chmod(0o777)
        open_all_above(self, self.directory)
        self.assertIn("choose another with --log-file", self.refused())

    def assert_foreign_refused(self, call: str, path: Path) -> None:
        """Check that ``path`` is refused when by ``call`` it is another user's."""
        found = list(path.stat())
        found[stat.ST_UID] = os.geteuid() + 1
        with mock.patch.object(pagefile.os, call, return_value=os.stat_result(found)):
            self.assertIn("belongs to another user", self.refused())

    def test_foreign_file_attack(self) -> None:
        """A file of another user is refused."""
        self.path.parent.mkdir(mode=0o700)
        self.path.touch()
        self.assert_foreign_refused("fstat", self.path)

    def test_planted_symlink_attack(self) -> None:
        """A symbolic link in place of the file or its directory is not followed."""
        target = self.directory / "target"
        target.write_bytes(b"untouched")
        self.path.parent.mkdir(mode=0o700)
        self.path.symlink_to(target)
        self.assertIn("symbolic links", self.refused())
        self.assertEqual(target.read_bytes(), b"untouched")
        self.path.unlink()
        moved = self.path.parent.rename(self.directory / "elsewhere")
        self.path.parent.symlink_to(moved)
        self.assertIn("not a directory", self.refused())

    def test_no_file(self) -> None:
        """What is not a regular file is refused, and never waited for."""
        self.path.parent.mkdir(mode=0o700)
        os.mkfifo(self.path)
        reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.assertIn("not a regular file", self.refused())

    def test_unusable(self) -> None:
        """A path that cannot be made is refused with the system's reason."""
        self.path.parent.touch()
        self.assertIn("not a directory", self.refused())
        self.path = self.path.parent / "deeper" / "plugins.log"
        self.assertIn("File exists", self.refused())


class AppendTests(PageFileCase):
    def older(self) -> bytes:
        return Path(f"{self.path}.1").read_bytes()

    def test_rotated(self) -> None:
        """What would grow it over its limit starts a new one; one older is kept."""
        file = self.open(10)
        before = open_files()
        file.append(b"longer than that\n")
        self.assertFalse(file.older.exists())
        for line in (b"12345\n", b"abc\n", b"next\n"):
            file.append(line)
        self.assertEqual(self.older(), b"12345\nabc\n")
        self.assertEqual(self.path.read_bytes(), b"next\n")
        self.assertEqual(file.size, 5)
        self.assertEqual(open_files(), before)

    def test_truncated_by_others(self) -> None:
        """A file that was cut short is measured again; its links need no count."""
        file = self.open(8)
        file.append(b"1234\n")
        os.truncate(self.path, 0)
        found = list(self.path.stat())
        found[stat.ST_NLINK] = 0
        unlinked = os.stat_result(found)
        with mock.patch.object(pagefile.os, "fstat", return_value=unlinked):
            file.append(b"5678\n")
        self.assertEqual((file.size, self.path.read_bytes()), (5, b"5678\n"))
        self.assertFalse(file.older.exists())

    def test_failed_rotation(self) -> None:
        """When the file cannot be renamed, it grows to twice its limit, no further."""
        file = self.open(4)
        file.older.mkdir()
        for line, held in (
            (b"123\n", b"123\n"),
            (b"456\n", b"123\n456\n"),
            (b"789\n", b"789\n"),
        ):
            file.append(line)
            self.assertEqual(self.path.read_bytes(), held)
        self.assertEqual((file.size, file.problem[-14:]), (4, "Is a directory"))
        file.older.rmdir()
        file.append(b"abc\n")
        self.assertEqual((self.path.read_bytes(), file.problem), (b"abc\n", ""))

    def test_failed_reopening(self) -> None:
        """When no new file can be opened, the old one goes on, to twice its limit."""
        file = self.open(4)
        file.append(b"123\n")
        full = OSError(errno.EMFILE, "too many")
        with mock.patch.object(pagefile.os, "open", side_effect=full):
            file.append(b"456\n")
            self.assertEqual(self.older(), b"123\n456\n")
            self.path.symlink_to("elsewhere")
            file.append(b"789\n")
            self.assertEqual((self.older(), file.size), (b"789\n", 4))
            file.older.unlink()
            self.assertRaises(FileNotFoundError, file.append, b"lost\n")
        self.path.unlink()
        file.append(b"1\n")
        # A data directory that was moved away is not made again.
        aside = self.directory.rename(f"{self.directory}.aside")
        file.append(b"2\n")
        self.assertFalse(self.directory.exists())
        aside.rename(self.directory)
        self.assertEqual(self.path.read_bytes(), b"1\n2\n")

    def test_attack_replaced(self) -> None:
        """Neither a link nor a directory of others is followed, put there meanwhile."""
        file = self.open()
        file.append(b"1\n")
        elsewhere = self.directory / "elsewhere"
        elsewhere.mkdir(mode=0o700)
        moved = self.path.rename(self.directory / "moved")
        self.path.symlink_to(elsewhere / "plugins.log")
        file.append(b"2\n")
        self.path.unlink()
        self.path.parent.chmod(0o777)
        file.append(b"3\n")
        self.path.parent.rmdir()
        self.path.parent.symlink_to(elsewhere)
        file.append(b"4\n")
        self.assertEqual(moved.read_bytes(), b"1\n2\n3\n4\n")
        self.assertEqual(list(elsewhere.iterdir()), [])

    def test_killed_in_the_middle_of_a_line(self) -> None:
        """The next start ends that line, so that the first of its own is whole."""
        self.open().append(b"1\n")
        with self.path.open("ab") as end:
            end.write(b"cut sh")
        file = self.open()
        self.assertEqual(file.size, 9)
        file.append(b"2\n")
        self.assertEqual(self.path.read_bytes(), b"1\ncut sh\n2\n")

    def test_full_disk(self) -> None:
        """Lines that could be written only in part are removed again."""
        file = self.open()
        file.append(b"whole\n")
        real, calls = os.write, []

        def half(fd: int, content: memoryview) -> int:
            calls.append(content)
            if len(calls) > 1:
                raise OSError(errno.ENOSPC, "full")
            return real(fd, content[:3])

        with mock.patch.object(pagefile.os, "write", half):
            self.assertRaises(OSError, file.append, b"not whole\n")
        self.assertEqual(self.path.read_bytes(), b"whole\n")
        self.assertEqual(file.size, 6)
        file.append(b"again\n")
        self.assertEqual(self.path.read_bytes(), b"whole\nagain\n")


class WriterTests(TestCase):
    def setUp(self) -> None:
        self.path = fresh_directory(self) / "logs" / "plugins.log"
        pool = Pool(reactor, "logs", 1)
        pool.start()
        self.addCleanup(pool.stop)
        self.file = PageFile.open(self.path, 100 * MIB)
        self.writer = LogWriter(self.file, pool.call)
        self.addCleanup(self.writer.close)

    async def test_in_order(self) -> None:
        """Lines are written in order, all that were accepted before the end."""
        for number in range(500):
            written = self.writer.write(b"%d\n" % number)
        closed = self.writer.close()
        late: Any = await self.assertFailure(self.writer.write(b"late\n"), BridgeError)
        self.assertIs(late.code, Code.UNAVAILABLE)
        await written
        await closed
        await self.writer.close()
        self.writer.reopen()
        lines = b"".join(b"%d\n" % number for number in range(500))
        self.assertEqual(self.path.read_bytes(), lines)
        self.assertEqual(self.file.size, len(lines))

    async def test_overloaded(self) -> None:
        """When too much waits, more is refused until it is written."""
        line = b"x" * (LOG_UNWRITTEN_BYTES // 2) + b"\n"
        taken = [self.writer.write(line) for _ in range(2)]
        self.assertTrue(self.writer.overloaded)
        late: Any = await self.assertFailure(self.writer.write(b"late\n"), BridgeError)
        self.assertIs(late.code, Code.UNAVAILABLE)
        for write in taken:
            await write
        self.assertFalse(self.writer.overloaded)
        await self.writer.write(b"again\n")

    async def test_no_thread(self) -> None:
        """Where no thread can be had, that is what is answered."""
        writer = LogWriter(self.file, lambda *_: fail(unavailable(NO_THREAD)))
        error: Any = await self.assertFailure(writer.write(b"x\n"), BridgeError)
        self.assertEqual((error.code, error.message), (Code.UNAVAILABLE, NO_THREAD))
        self.assertFalse(writer.overloaded)

    async def test_failing_to_rotate(self) -> None:
        """A file that can't be renamed is warned of once."""
        self.file._max_bytes = 1
        self.file.older.mkdir()
        with capturedLogs() as logged:
            for _ in range(4):
                await self.writer.write(b"0\n")
        (line,) = map(formatEvent, logged)
        self.assertIn("cannot be rotated, and will lose lines: Is a directory", line)

    async def test_failing_to_reopen(self) -> None:
        """A file that can't be reopened is logged; lines are written while they can."""
        with capturedLogs() as logged:
            self.path.unlink()
            self.path.mkdir()
            lost: Any = await self.assertFailure(self.writer.write(b"1\n"), BridgeError)
            self.assertIn("could not be written: it was removed", lost.message)
            self.path.rmdir()
            await self.writer.write(b"1\n")
            self.path.rename(self.path.with_name("moved"))
            self.path.mkdir()
            for reopen in (lambda: None, self.writer.reopen):
                reopen()
                for _ in range(2):
                    await self.writer.write(b"0\n")
        words = ["the page's log goes on in its former file"] * 2
        self.assertEqual([formatEvent(event) for event in logged], words)
        self.path.rmdir()
        in_thread = self.writer._in_thread
        self.writer._in_thread = lambda *_: fail(OSError(9, "Bad file descriptor"))
        self.writer.reopen()
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
        self.writer._in_thread = in_thread
        await self.writer.write(b"1\n")
