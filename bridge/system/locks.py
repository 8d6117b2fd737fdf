"""Locks of files and directories, which the system releases when a process ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def lock_file(file: IO[bytes]) -> bool:
        """
        Lock an open file, without waiting.

        :return: Whether no other process holds the lock.
        """
        # Far beyond the text, which other processes read.
        file.seek(1 << 30)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        file.seek(0)
        return True

    def lock_directory(path: Path) -> int | None:
        """Do nothing: directories can't be locked."""
        return None

else:
    import fcntl

    def lock_file(file: IO[bytes]) -> bool:
        """
        Lock an open file, without waiting.

        :return: Whether no other process holds the lock.
        """
        try:
            # flock, not lockf: it belongs to the open file, so it survives the
            # fork by which twistd becomes a daemon.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def lock_directory(path: Path) -> int | None:
        """
        Lock a directory, without waiting.

        :return: What to close to release it; ``None`` where there are no such locks.
        :raise BlockingIOError: Another process holds it.
        :raise OSError: There is no such directory.
        """
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise
        except OSError:
            pass  # a file system without locks
        return fd
