"""
Files without a name, for a program to run from; on Linux only.

Nobody opens such a file but by a descriptor of this process, which only its own user
and root can do.  On the disk, the system may free the memory it takes; in memory, it
needs no room on a disk and cannot be changed by anybody.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

Place = Callable[[Path], int]
"""
Creates an empty file that can be run, given a directory of its file system.

It returns a descriptor, and raises ``OSError`` where there can be none.
"""

# Since Linux 6.3 a file in memory has to declare that it will run; older kernels refuse
# the flag.
_MFD_EXEC: Final = 0x10
# The last room on a disk is for what has to be kept.
_ROOM_BYTES: Final = 256 * 2**20


def on_disk(directory: Path) -> int:
    """Create a file in the directory's file system; see ``Place``."""
    if sys.platform != "linux":  # pragma: no cover
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    found = os.statvfs(directory)
    if found.f_flag & os.ST_NOEXEC:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if found.f_bavail * found.f_frsize < _ROOM_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    # O_EXCL: nor can it get a name later.
    flags = os.O_TMPFILE | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC
    return os.open(directory, flags, 0o500)


def in_memory(_: Path) -> int:
    """Create a file in memory; see ``Place``."""
    if sys.platform != "linux":  # pragma: no cover
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        return os.memfd_create("bundler", flags | _MFD_EXEC)
    except OSError as e:
        if e.errno != errno.EINVAL:
            raise
        return os.memfd_create("bundler", flags)


PLACES: Final = (on_disk, in_memory) if sys.platform == "linux" else ()
"""Where a file without a name can be, in the order of preference."""


def finish(fd: int) -> int:
    """
    Close a file for writing, for no system runs one that is open for that.

    One in memory is made unchangeable, for ever.

    :return: A descriptor that reads it.
    :raise OSError: It could not be done, and ``fd`` is still open.
    """
    if sys.platform != "linux":  # pragma: no cover
        return fd
    _seal(fd)
    reading = os.open(path_of(fd), os.O_RDONLY | os.O_CLOEXEC)
    os.close(fd)
    return reading


def _seal(fd: int) -> None:
    if sys.platform != "linux":  # pragma: no cover
        return
    import fcntl

    try:
        sealed = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    except OSError:
        return  # it is on a disk
    if not sealed & fcntl.F_SEAL_SEAL:
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals | fcntl.F_SEAL_SEAL)


def path_of(fd: int) -> str:
    """Return where another process finds what a descriptor of this one has open."""
    return f"/proc/{os.getpid()}/fd/{fd}"
