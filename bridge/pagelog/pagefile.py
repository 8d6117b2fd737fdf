"""
The file of the page's log lines: written, rotated, and read meanwhile.

Each line is returned once and in order, although the daemon rotates the file, and
writes for a while to one that it has renamed.  One that another program has truncated
is read from its beginning, as ``tail -F`` does.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from attrs import field

from ..classes import define
from ..datadir.ownership import NotOwnError, check, check_above
from ..datadir.paths import make_directories
from ..protocol.errors import UserError
from ..system.files import (
    NO_LINK,
    NO_WAIT,
    RENAMES_OPEN_FILES,
    NotRegularError,
    is_own,
    make_private,
    open_regular,
    write_all,
)


class LogFileError(UserError):
    """The log file cannot be used safely; the message gives the path and the reason."""


_FORMER: Final = "the page's log goes on in its former file"
_NOT_ROTATED: Final = "the page's log cannot be rotated, and will lose lines"


@define(eq=False, repr=False)
class PageFile:
    """
    A log file that is appended to and keeps one older generation.  Blocks.

    Lines stay whole: a partial write is rolled back.  A file
    that someone else has moved or removed, as log rotation does, is followed: the
    next line starts a new one.

    :ivar path: Where it is; its older generation has ``.1`` behind the name.
    :ivar size: How many bytes it is.
    :ivar problem: Why it goes on otherwise than it should; empty: it does not.
    """

    path: Path
    _max_bytes: int
    _fd: int
    size: int
    problem: str = ""

    @classmethod
    def open(cls, path: Path, max_bytes: int) -> PageFile:
        """
        Open the file, and make it and its directory if need be.

        :param max_bytes: What it may grow to before it is rotated.
        :raise LogFileError: The directory is not the daemon's own, or the file
            cannot be opened in it.
        """
        try:
            make_directories(path.parent.parent)
            _own_directory(path.parent)
            fd = _open(path)
            return cls(path, max_bytes, fd, os.fstat(fd).st_size)
        except OSError as e:
            raise LogFileError(f"{path}: {e.strerror}") from None

    @property
    def older(self) -> Path:
        """The generation before the last rotation."""
        return older_of(self.path)

    def append(self, lines: bytes) -> None:
        """
        Append whole lines.

        Where no new generation can begin, the file is emptied at twice the limit: the
        disk must not fill, and the newest lines are those that are looked for.

        :raise OSError: None of them was written.
        """
        if self._moved() or self.problem == _FORMER:
            self.reopen()
        self.size = os.fstat(self._fd).st_size
        # What has the name of a former file is another's.
        full = self.size + len(lines) > self._max_bytes
        if self.size and full and self.problem != _FORMER:
            self._rotate()
        # Some file systems count no links: it is asked only where it is needed.
        if self.problem == _FORMER and os.fstat(self._fd).st_nlink == 0:
            raise OSError(errno.ENOENT, "it was removed, and no other can be opened")
        if self.size + len(lines) > 2 * self._max_bytes:
            os.ftruncate(self._fd, 0)
            self.size = 0
        try:
            write_all(self._fd, lines)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self.size)
            raise
        self.size += len(lines)

    def reopen(self) -> None:
        """Continue in the file that has the name now; if that fails, in this one."""
        try:
            _own_directory(self.path.parent)
            fd = _open(self.path)
        except (OSError, LogFileError):
            self.problem = _FORMER
            return
        os.close(self._fd)
        self._fd, self.size, self.problem = fd, os.fstat(fd).st_size, ""

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def _moved(self) -> bool:
        try:
            named = os.lstat(self.path)
        except OSError:
            return True
        return not os.path.samestat(named, os.fstat(self._fd))

    def _rotate(self) -> None:
        """Start a new generation; a failure keeps the lines coming in this one."""
        if not RENAMES_OPEN_FILES:  # pragma: no cover
            os.close(self._fd)
        self.problem = ""
        try:
            os.replace(self.path, self.older)
        except OSError as e:
            self.problem = f"{_NOT_ROTATED}: {e.strerror or 'I/O error'}"
        if not RENAMES_OPEN_FILES:  # pragma: no cover
            self._fd = _open(self.path)
            self.size = os.fstat(self._fd).st_size
        elif not self.problem:
            self.reopen()


def older_of(path: Path) -> Path:
    """Where the generation before the last rotation of a log file is."""
    return path.with_name(path.name + ".1")


def _own_directory(path: Path) -> None:
    """
    Make ``path``, or check that no other user can put files there.

    Nothing above it is made: a data directory that was moved away stays away.
    """
    if path.is_symlink() or path.is_file():
        raise LogFileError(f"{path}: not a directory")
    path.mkdir(mode=0o700, exist_ok=True)
    try:
        check_above(path, "--log-file")
        check(path)
    except NotOwnError as e:
        # Its own advice, to remove it or take rights away, is none for /tmp.
        why = f"{e.finding}; choose another with --log-file"
        raise LogFileError(why) from None


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    # A symbolic link could lead anywhere, and a pipe could block forever.
    flags |= NO_LINK | NO_WAIT
    fd = os.open(path, flags, 0o600)
    try:
        _own_file(path, fd)
        _end_line(fd)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _own_file(path: Path, fd: int) -> None:
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        raise LogFileError(f"{path}: not a regular file")
    if not is_own(found):
        raise LogFileError(f"{path}: belongs to another user")
    make_private(fd)


def _end_line(fd: int) -> None:
    """End a line that was left in its middle by a daemon that was killed."""
    if os.lseek(fd, 0, os.SEEK_END) > 0:
        os.lseek(fd, -1, os.SEEK_END)
        if os.read(fd, 1) != b"\n":
            write_all(fd, b"\n")


T = TypeVar("T")
_Key = tuple[int, int]

_BLOCK_BYTES: Final = 64 * 1024


@define(eq=False)
class _Generation:
    """
    A file that is read.  It is kept open, so that nothing else gets its number.

    :ivar position: Everything before it was returned.
    """

    file: BinaryIO
    position: int = 0

    @property
    def key(self) -> _Key:
        """What the file is known by, whatever its name."""
        found = os.fstat(self.file.fileno())
        return found.st_dev, found.st_ino

    def lines(self) -> list[bytes]:
        """Return the whole lines that are new."""
        if os.fstat(self.file.fileno()).st_size < self.position:
            self.position = 0
        self.file.seek(self.position)
        new = self.file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self.position += len(whole)
        return whole.split(b"\n")[:-1]

    def lines_backward(self) -> Iterator[bytes]:
        """Yield the whole lines so far, the last first; they are no longer new."""
        start = size = os.fstat(self.file.fileno()).st_size
        rest = b""
        while start:
            end, start = start, max(0, start - _BLOCK_BYTES)
            self.file.seek(start)
            rest, *lines = (self.file.read(end - start) + rest).split(b"\n")
            if lines and not self.position:
                self.position = size - len(lines.pop())
            yield from reversed(lines)
        if self.position:
            yield rest


@define(eq=False)
class Follower:
    """
    Returns the lines of a log file and of the generation before it.  Blocks.

    :ivar path: Where the file is, or will be.
    """

    path: Path
    _known: dict[_Key, _Generation] = field(factory=dict)

    def last(self, count: int, read: Callable[[bytes], T | None]) -> list[T]:
        """
        Return the last lines, even those returned before.

        :param count: At most so many.
        :param read: Converts a line; ``None`` leaves it out.
        :return: The results of ``read``, oldest first.
        :raise LogFileError: What has the name is not a regular file.
        :raise OSError: It can't be read.
        """
        self.close()
        self._known = self._look()
        found: list[T] = []
        for generation in reversed(self._known.values()):
            for line in generation.lines_backward():
                if len(found) == count:
                    break
                if (shown := read(line)) is not None:
                    found.append(shown)
        return found[::-1]

    def more(self) -> Iterator[bytes]:
        """
        Yield the whole lines that came since, oldest first.

        :raise LogFileError: What has the name is not a regular file.
        :raise OSError: It can't be read.
        """
        now, before = self._look(), self._known
        self._known = {}
        for key, generation in before.items():
            if key not in now:  # it has lost its name, after these lines
                yield from generation.lines()
                generation.file.close()
        for key, generation in now.items():
            if key in before:
                generation.file.close()
            self._known[key] = before.get(key, generation)
        for generation in self._known.values():
            yield from generation.lines()

    @property
    def found(self) -> bool:
        """Whether there is a file."""
        return bool(self._known)

    def close(self) -> None:
        """Close what is open."""
        for generation in self._known.values():
            generation.file.close()
        self._known = {}

    def _look(self) -> dict[_Key, _Generation]:
        """Open both generations, the older first."""
        # In this order a file that is renamed meanwhile is found twice, not missed.
        current, older = _opened(self.path), _opened(older_of(self.path))
        found: dict[_Key, _Generation] = {}
        for generation in (older, current):
            if generation is None:
                continue
            if found.setdefault(generation.key, generation) is not generation:
                generation.file.close()
        return found


def _opened(path: Path) -> _Generation | None:
    try:
        # Without a buffer, in which what was truncated would still be found.
        return _Generation(open_regular(os.path.realpath(path), buffering=0))
    except FileNotFoundError:
        return None
    except NotRegularError:
        raise LogFileError(f"{path}: not a regular file") from None
