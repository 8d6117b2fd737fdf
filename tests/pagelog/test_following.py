import os
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.pagelog import following
from bridge.pagelog.following import Follower
from bridge.pagelog.pagefile import LogFileError, PageFile
from tests.pagelog.test_pagefile import PageFileCase


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
            mock.patch.object(following, "_BLOCK_BYTES", 7),
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
        opening = following._open

        def open_slowly(path: Path):
            found = opening(path)
            if path == self.path:
                file.append(b"two\n")
            return found

        with mock.patch.object(following, "_open", open_slowly):
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
