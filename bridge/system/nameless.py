"""
Files in memory, for a program to run from; on Linux only.

Such a file has no name, so that nobody opens it but by a descriptor of this process,
which only its own user and root can do, and once it is finished nobody can change it.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Final

# Since Linux 6.3 a file in memory has to declare that it will run; older kernels refuse
# the flag.
_MFD_EXEC: Final = 0x10


def create() -> int:
    """
    Create an empty file.

    :return: A descriptor that writes it.
    :raise OSError: There can be none that runs.
    """
    if sys.platform != "linux":  # pragma: no cover
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        return os.memfd_create("bundler", flags | _MFD_EXEC)
    except OSError as e:
        if e.errno != errno.EINVAL:
            raise
        return os.memfd_create("bundler", flags)


def finish(fd: int) -> int:
    """
    Make a file unchangeable, and close it for writing: no system runs it before.

    :return: A descriptor that reads it.
    :raise OSError: It could not be done, and ``fd`` is still open.
    """
    if sys.platform != "linux":  # pragma: no cover
        return fd
    import fcntl

    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals | fcntl.F_SEAL_SEAL)
    reading = os.open(path_of(fd), os.O_RDONLY | os.O_CLOEXEC)
    os.close(fd)
    return reading


def path_of(fd: int) -> str:
    """Return where another process finds what a descriptor of this one has open."""
    return f"/proc/{os.getpid()}/fd/{fd}"
