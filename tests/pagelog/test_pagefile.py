"""Tests for bridge.pagelog.pagefile."""

import errno
import os
import stat
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.pagelog import pagefile
from bridge.pagelog.pagefile import Follower, LogFileError, PageFile
from tests.directories import fresh_directory, open_all_above, open_files


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
        # Once it is back, the file is rotated as ever.
        file.append(b"3\n")
        self.assertEqual((self.older(), file.problem), (b"1\n2\n", ""))

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


class FollowerCase(PageFileCase):
    """A log file, who writes it, and who reads it."""

    def setUp(self) -> None:
        super().setUp()
        self.follower = Follower(self.path)
        self.addCleanup(self.follower.close)

    def last(self, count: int = 100) -> list[bytes]:
        return self.follower.last(count, lambda line: line)

    def more(self) -> list[bytes]:
        return list(self.follower.more())


class LastTests(FollowerCase):
    @given(
        st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line)),
        st.integers(0, 12),
    )
    def test_blocks(self, lines: list[bytes], count: int) -> None:
        """
        However the blocks that are read fall, the lines are the file's.

        Those that are left out do not count.  One that is still being written is given
        when it is whole.
        """

        def hexadecimal(line: bytes) -> str | None:
            return line.hex() or None

        with (
            TemporaryDirectory() as directory,
            mock.patch.object(pagefile, "_BLOCK_BYTES", 7),
        ):
            path = Path(directory) / "log"
            path.write_bytes(b"".join(line + b"\n" for line in lines) + b"rest")
            follower = Follower(path)
            follower.last(100, hexadecimal)  # it looks again when it is asked again
            found = follower.last(count, hexadecimal)
            self.assertEqual(list(follower.more()), [])
            path.write_bytes(path.read_bytes() + b" of it\n")
            self.assertEqual(list(follower.more()), [b"rest of it"])
            follower.close()
        shown = [line.hex() for line in lines if line]
        self.assertEqual(found, shown[max(0, len(shown) - count) :])


class MoreTests(FollowerCase):
    def test_through_a_link(self) -> None:
        """Who reads may name a log by a link of their own."""
        self.open().append(b"one\n")
        link = self.directory / "link.log"
        link.symlink_to(self.path)
        self.follower.path = link
        self.assertEqual(self.last(), [b"one"])

    def test_removed(self) -> None:
        """After the file was removed, the new one is given, and nothing again."""
        file = self.open(8)
        for line in (b"one\n", b"two\n", b"three\n"):
            file.append(line)
        self.assertEqual(self.last(), [b"one", b"two", b"three"])
        self.path.unlink()
        self.assertEqual(self.more(), [])
        file.append(b"four\n")
        self.assertEqual(self.more(), [b"four"])

    def test_truncated(self) -> None:
        """A file that has become shorter is read again."""
        file = self.open()
        file.append(b"one\ntwo\n")
        self.last()
        os.truncate(self.path, 0)
        self.assertEqual(self.more(), [])
        file.append(b"1\n")
        self.assertEqual(self.more(), [b"1"])

    def test_rotated_while_it_looks(self) -> None:
        """A rotation between the two files loses nothing, and gives nothing twice."""
        file = self.open(4)
        file.append(b"one\n")
        self.last()
        opening = pagefile._opened

        def open_slowly(path: Path):
            found = opening(path)
            if path == self.path:
                file.append(b"two\n")
            return found

        with mock.patch.object(pagefile, "_opened", open_slowly):
            self.assertEqual(self.more(), [])
        self.assertEqual(self.more(), [b"two"])

    def test_attack_pipe(self) -> None:
        """What is no file is refused, and never waited for."""
        self.path.parent.mkdir()
        os.mkfifo(self.path)
        self.assertRaises(LogFileError, self.last)

    @given(st.integers(20, 200), st.lists(st.integers(0, 5), max_size=60))
    @settings(max_examples=60)
    def test_once_each_and_in_order(self, most: int, steps: list[int]) -> None:
        """Whenever it looks, every line comes once, and in order."""
        with TemporaryDirectory() as directory:
            path = Path(directory) / "logs" / "plugins.log"
            file = PageFile.open(path, most)
            follower = Follower(path)
            got = follower.last(100, lambda line: line)
            written = rotations = 0
            for step in steps:
                before = path.stat().st_ino
                lines = [b"line %d\n" % (written + n) for n in range(step)]
                file.append(b"".join(lines))
                written += len(lines)
                rotations += path.stat().st_ino != before
                if step == 0 or rotations == 2:
                    got += follower.more()
                    rotations = 0
            got += follower.more()
            follower.close()
            file.close()
        self.assertEqual(got, [b"line %d" % n for n in range(written)])
