"""The file of the page's log lines."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from ..classes import define
from ..datadir.ownership import NotOwnError, check, check_above, make_directories
from ..protocol.errors import UserError
from ..system.files import NO_LINK, NO_WAIT, RENAMES_OPEN_FILES, make_private, write_all
from ..system.users import is_own


class LogFileError(UserError):
    """The log file cannot be used safely; the message gives the path and the reason."""


@define(eq=False, repr=False)
class PageFile:
    """
    A log file that is appended to and keeps one older generation.  Blocks.

    Lines stay whole: a partial write is rolled back.  A file
    that someone else has moved or removed, as log rotation does, is followed: the
    next line starts a new one.

    :ivar path: Where it is; its older generation has ``.1`` behind the name.
    :ivar size: How many bytes it is.
    :ivar not_rotated: Why it could not be when it was last full; empty: it was.
    :ivar is_former: Whether no file can be opened under its name, so that lines go on
        in the one that had it.
    """

    path: Path
    _max_bytes: int
    _fd: int
    size: int
    not_rotated: str = ""
    is_former: bool = False

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
        self.is_former = self._moved() and not self.reopen()
        self.size = os.fstat(self._fd).st_size
        # What has the name of a former file is another's.
        full = self.size + len(lines) > self._max_bytes
        if self.size and full and not self.is_former:
            self._rotate()
        # Some file systems count no links: it is asked only where it is needed.
        if self.is_former and os.fstat(self._fd).st_nlink == 0:
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

    def reopen(self) -> bool:
        """
        Continue in the file that has the name now; if that fails, in this one.

        :return: Whether it is that.
        """
        try:
            _own_directory(self.path.parent)
            fd = _open(self.path)
        except (OSError, LogFileError):
            return False
        os.close(self._fd)
        self._fd, self.size = fd, os.fstat(fd).st_size
        return True

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
        self.not_rotated = ""
        try:
            os.replace(self.path, self.older)
        except OSError as e:
            self.not_rotated = e.strerror or "I/O error"
        if not RENAMES_OPEN_FILES:  # pragma: no cover
            self._fd = _open(self.path)
            self.size = os.fstat(self._fd).st_size
        elif not self.not_rotated:
            self.is_former = not self.reopen()


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
