"""
Locks on files: one daemon to a data directory, one build at a time.

The kernel drops them when the process ends, however it ends.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from attrs import frozen


class LockedError(Exception):
    """
    Somebody else holds the lock.

    :ivar pid: Their process id, when they wrote one.
    """

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self.pid = pid


@frozen
class FileLock:
    """A lock that is held."""

    _file: IO[bytes]

    def release(self) -> None:
        """Give the lock up."""
        self._file.close()


@frozen
class DirectoryLock:
    """A lock of a directory that is held; it leaves no file in it."""

    _fd: int | None

    def release(self) -> None:
        """Give the lock up."""
        if self._fd is not None:
            os.close(self._fd)


def acquire(
    path: Path,
    patience: float = 0.0,
    sleep: Callable[[float], None] = time.sleep,
) -> FileLock:
    """
    Take the lock of ``path``, which is made when it is not there.

    Blocks while it is patient; ask from a thread, or with no patience.

    :param patience: Seconds to wait for whoever holds it.
    :raise LockedError: It is still held.
    :raise OSError: It can't be made or written.
    """
    waited = 0.0
    file = os.fdopen(
        os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600),
        "r+b",
        buffering=0,
    )
    while not _try(file):
        if waited >= patience:
            pid = _pid(file)
            file.close()
            raise LockedError(pid)
        sleep(0.05)
        waited += 0.05
    try:
        file.truncate(0)
        file.write(b"%d\n" % os.getpid())
    except OSError:
        file.close()
        raise
    return FileLock(file)


def is_held(path: Path) -> bool:
    """
    Whether somebody holds the lock of ``path``.

    To know it takes the lock for a moment, so who acquires it needs some patience.
    """
    try:
        with path.open("rb") as file:
            return not _try(file)
    except OSError:
        return False


def _pid(file: IO[bytes]) -> int | None:
    file.seek(0)
    text = file.read(32).strip()
    return int(text) if text.isdigit() else None


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _try(file: IO[bytes]) -> bool:
        # Far beyond the text, which others are to read.
        file.seek(1 << 30)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        file.seek(0)
        return True

else:
    import fcntl

    def _try(file: IO[bytes]) -> bool:
        try:
            # flock, not lockf: it belongs to the open file, so it survives the
            # fork by which twistd becomes a daemon.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def acquire_directory(path: Path) -> DirectoryLock:
    """
    Take the lock of a directory, at once or not at all.

    Where directories can't be locked, as on Windows, everybody gets it.

    :raise LockedError: Somebody else holds it.
    :raise OSError: There is no such directory.
    """
    if sys.platform == "win32":  # pragma: no cover
        return DirectoryLock(None)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise LockedError(None) from None
    except OSError:
        pass  # a file system without locks
    return DirectoryLock(fd)
