"""The file of the page's log lines, and what writes it in order, off the reactor."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final

from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..classes import define
from ..datadir.ownership import NotOwnError, check, check_above, make_directories
from ..protocol.errors import BridgeError, Code, UserError, unavailable
from ..protocol.limits import LOG_UNWRITTEN_BYTES
from ..system.files import (
    NO_LINK,
    NO_WAIT,
    RENAMES_OPEN_FILES,
    is_own,
    make_private,
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


@define(eq=False, repr=False)
class LogWriter:
    """
    Appends to a page file.

    :ivar file: Written to in that thread only.
    :ivar in_thread: Calls functions in a thread, the same for all: in their order.
    """

    file: PageFile
    _in_thread: Callable[..., Deferred[Any]]
    _unwritten: int = 0
    _problem: str = ""
    _closed: bool = False

    _log: ClassVar[Logger] = Logger()

    @property
    def overloaded(self) -> bool:
        """Whether so much waits to be written that more is refused."""
        return self._unwritten > LOG_UNWRITTEN_BYTES

    def write(self, lines: bytes) -> Deferred[None]:
        """
        Append whole lines.

        :return: Fires when they are in the file.  Fails with ``BridgeError``:
            ``internal`` when they could not be written, ``unavailable`` when too much
            waits already, and after ``close``.
        """
        if self._closed:
            return fail(unavailable("the log file is closed"))
        if self.overloaded:
            return fail(unavailable("log lines come faster than they can be written"))
        self._unwritten += len(lines)
        writing = self._in_thread(self.file.append, lines)
        return writing.addBoth(self._written, len(lines))

    def _written(self, result: Any, size: int) -> Any:
        self._unwritten -= size
        if not isinstance(result, Failure):
            self._note_problem()
        # One of ours, that there is no thread for it, is answered as it is.
        elif not result.check(BridgeError):
            error = result.value
            reason = getattr(error, "strerror", None) or type(error).__name__
            message = f"the log file could not be written: {reason}"
            raise BridgeError(Code.INTERNAL, message)
        return result

    def reopen(self) -> None:
        """Continue, with the next write, in the file that has the name now."""
        if not self._closed:
            self._in_thread(self.file.reopen).addCallbacks(
                self._reopened,
                lambda failure: self._log.failure(
                    "the page's log file could not be reopened", failure
                ),
            )

    def _reopened(self, result: None) -> None:
        self._problem = ""
        self._note_problem()
        if not self._problem:
            self._log.info("the page's log file is reopened")

    def _note_problem(self) -> None:
        before, self._problem = self._problem, self.file.problem
        if self._problem not in ("", before):
            self._log.warn("{why}", why=self._problem)

    def close(self) -> Deferred[None]:
        """
        Accept no more lines.

        :return: Fires when all accepted lines are written, and the file is
            closed; closing again does nothing.
        """
        if self._closed:
            return succeed(None)
        self._closed = True
        return self._in_thread(self.file.close)
