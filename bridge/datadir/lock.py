"""
Locks on files: one daemon to a data directory, one build at a time.

The kernel releases them when the process ends, however it ends.
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
    Another process holds the lock.

    :ivar pid: Its process id, if it wrote one.
    """

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self.pid = pid


@frozen
class FileLock:
    """A lock that is held."""

    _file: IO[bytes]

    def release(self) -> None:
        """Release the lock."""
        self._file.close()


@frozen
class DirectoryLock:
    """A lock of a directory that is held; it leaves no file in it."""

    _fd: int | None

    def release(self) -> None:
        """Release the lock."""
        if self._fd is not None:
            os.close(self._fd)


def acquire(
    path: Path,
    patience: float = 0.0,
    sleep: Callable[[float], None] = time.sleep,
) -> FileLock:
    """
    Acquire the lock of ``path``, creating the file if it does not exist.

    Blocks while it waits: call it in a thread, or without patience.

    :param patience: Seconds to wait for the process that holds it.
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
    Whether a process holds the lock of ``path``.

    The check acquires the lock for a moment, so a process that acquires it needs some
    patience.
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
        # Far beyond the text, which other processes read.
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
    Acquire the lock of a directory, without waiting.

    Where directories can't be locked, as on Windows, it always succeeds.

    :raise LockedError: Another process holds it.
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
