"""
Locks of files and directories: one daemon to a data directory, one build at a time.

The system releases them when the process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from .files import NO_LINK, NO_WAIT, read_bounded

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _try_lock(fd: int) -> None:
        # Far beyond the text, which other processes read.
        os.lseek(fd, 1 << 30, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            raise BlockingIOError from None
        os.lseek(fd, 0, os.SEEK_SET)

    def _open_directory(path: Path) -> list[int]:
        return []  # directories can't be locked

else:
    import fcntl

    def _try_lock(fd: int) -> None:
        # flock, not lockf: it belongs to the open file, so it survives the fork by
        # which twistd becomes a daemon.
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _open_directory(path: Path) -> list[int]:
        return [os.open(path, os.O_RDONLY | os.O_DIRECTORY)]


class LockedError(Exception):
    """
    Another process holds the lock.

    :ivar pid: Its process id, if it wrote one.
    """

    def __init__(self, pid: int | None = None) -> None:
        super().__init__(pid)
        self.pid = pid


class Lock(ExitStack):
    """
    A lock that is held, of a directory, and of a file in it if there is one.

    It is released by ``release`` or at the end of ``with``; again does nothing.
    """

    release = ExitStack.close


def acquire(
    path: Path, patience: float = 0.0, sleep: Callable[[float], None] = time.sleep
) -> Lock:
    """
    Acquire the lock of ``path``, creating the file if it does not exist.

    The directory is locked too, so that removing the file frees nothing: a directory
    has one lock at most.  Blocks while it waits: call it in a thread, or without
    patience.

    :param patience: Seconds to wait for the process that holds it.
    :raise LockedError: It is still held.
    :raise OSError: It can't be made or written, or is a link.
    """
    waited = 0.0
    while True:
        try:
            return _acquired(path)
        except LockedError:
            if waited >= patience:
                raise LockedError(_pid(path)) from None
        sleep(0.05)
        waited += 0.05


def is_held(path: Path) -> bool:
    """
    Whether a process holds the lock of ``path``.

    The check acquires the lock for a moment, so a process that acquires it needs some
    patience.
    """
    try:
        with acquire_directory(path.parent) as directory:
            # NFS locks exclusively only what may be written.
            _lock(directory, os.open(path, os.O_RDWR | NO_LINK | NO_WAIT))
    except LockedError:
        return True
    except OSError:
        pass
    return False


def holder(path: Path) -> int | None:
    """Return the process id of who holds a lock; ``None``: nobody, or not known."""
    return _pid(path) if is_held(path) else None


def name_holder(path: Path) -> None:
    """Have a lock name this process, a fork of the one that has acquired it."""
    if _pid(path) != os.getpid():
        with contextlib.suppress(OSError):
            path.write_bytes(b"%d\n" % os.getpid())


def acquire_directory(path: Path) -> Lock:
    """
    Acquire the lock of a directory, without waiting; it leaves no file in it.

    Where directories can't be locked it always succeeds: on Windows, and on some file
    systems.

    :raise LockedError: Another process holds it.
    :raise OSError: There is no such directory.
    """
    lock = Lock()
    for fd in _open_directory(path):
        lock.callback(os.close, fd)
        try:
            _try_lock(fd)
        except BlockingIOError:
            lock.release()
            raise LockedError from None
        except OSError:
            pass  # a file system without locks
    return lock


def _acquired(path: Path) -> Lock:
    with acquire_directory(path.parent) as lock:
        # Not blocking: opening a pipe would wait for its writer.
        fd = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK | NO_WAIT, 0o600)
        _lock(lock, fd)
        os.ftruncate(fd, 0)
        os.write(fd, b"%d\n" % os.getpid())
        return lock.pop_all()


def _lock(lock: Lock, fd: int) -> None:
    """
    Add an open file to a lock.

    :raise LockedError: Another process holds it.
    :raise OSError: There can be no lock.
    """
    lock.callback(os.close, fd)
    try:
        _try_lock(fd)
    except BlockingIOError:
        raise LockedError from None


def _pid(path: Path) -> int | None:
    try:
        text = read_bounded(path, 32).strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
