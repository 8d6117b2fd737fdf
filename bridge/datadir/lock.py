"""
Locks on files: one daemon to a data directory, one build at a time.

The kernel releases them when the process ends, however it ends.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from ..classes import define, frozen
from ..system.files import NO_LINK, NO_WAIT
from ..system.locks import lock_directory, lock_file


class LockedError(Exception):
    """
    Another process holds the lock.

    :ivar pid: Its process id, if it wrote one.
    """

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self.pid = pid


@define(eq=False, repr=False)
class DirectoryLock:
    """A lock of a directory that is held; it leaves no file in it."""

    _fd: int | None

    def release(self) -> None:
        """Release the lock; again does nothing."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


@frozen(eq=False, repr=False)
class FileLock:
    """A lock of a file that is held, and of the directory the file is in."""

    _file: IO[bytes]
    _directory: DirectoryLock

    def release(self) -> None:
        """Release the lock; again does nothing."""
        self._file.close()
        self._directory.release()


def acquire(
    path: Path,
    patience: float = 0.0,
    sleep: Callable[[float], None] = time.sleep,
) -> FileLock:
    """
    Acquire the lock of ``path``, creating the file if it does not exist.

    The directory is locked too, so that removing the file frees nothing: a directory
    has one lock at most.  Blocks while it waits: call it in a thread, or without
    patience.

    :param patience: Seconds to wait for the process that holds it.
    :raise LockedError: It is still held.
    :raise OSError: It can't be made or written, or another user may have written it.
    """
    waited = 0.0
    while (held := _attempt(path, os.O_RDWR | os.O_CREAT)) is None:
        if waited >= patience:
            raise LockedError(_pid(path))
        sleep(0.05)
        waited += 0.05
    try:
        held._file.truncate(0)
        held._file.write(b"%d\n" % os.getpid())
    except OSError:
        held.release()
        raise
    return held


def is_held(path: Path) -> bool:
    """
    Whether a process holds the lock of ``path``.

    The check acquires the lock for a moment, so a process that acquires it needs some
    patience.
    """
    try:
        held = _attempt(path, os.O_RDONLY)
    except OSError:
        return False
    if held is not None:
        held.release()
    return held is None


def holder(path: Path) -> int | None:
    """Return the process id of who holds a lock; ``None``: nobody, or not known."""
    return _pid(path) if is_held(path) else None


def _attempt(path: Path, access: int) -> FileLock | None:
    """Acquire a lock if it is free; ``None`` when it is held."""
    try:
        directory = acquire_directory(path.parent)
    except LockedError:
        return None
    try:
        file = _open(path, access)
    except BaseException:
        directory.release()
        raise
    lock = FileLock(file, directory)
    if lock_file(file):
        return lock
    lock.release()
    return None


def _open(path: Path, access: int) -> IO[bytes]:
    # Not blocking: opening a pipe would wait for its writer.
    flags = access | NO_LINK | NO_WAIT
    mode = "rb" if access == os.O_RDONLY else "r+b"
    return os.fdopen(os.open(path, flags, 0o600), mode, buffering=0)


def _pid(path: Path) -> int | None:
    try:
        with _open(path, os.O_RDONLY) as file:
            text = (file.read(32) or b"").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def acquire_directory(path: Path) -> DirectoryLock:
    """
    Acquire the lock of a directory, without waiting.

    Where directories can't be locked, as on Windows, it always succeeds.

    :raise LockedError: Another process holds it.
    :raise OSError: There is no such directory.
    """
    try:
        return DirectoryLock(lock_directory(path))
    except BlockingIOError:
        raise LockedError(None) from None
