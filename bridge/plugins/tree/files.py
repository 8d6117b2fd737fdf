"""Reading files of a tree that somebody else made."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

from ...protocol.limits import MIB
from ...protocol.text import printable
from ...system.files import BINARY, NO_INHERIT, NO_LINK, NO_WAIT

SHOWN_CHARACTERS: Final = 200

# A link (the second on FreeBSD); a socket, or a device that is not there.
_NOT_REGULAR: Final = frozenset({errno.ELOOP, errno.EMLINK, errno.ENXIO})

_FLAGS: Final = os.O_RDONLY | NO_LINK | NO_WAIT | NO_INHERIT | BINARY


class NotRegularError(OSError):
    """What should be a file is a link, a directory, a pipe or a device."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "not a regular file")


class TooLargeError(OSError):
    """A file is larger than its limit."""


def open_regular(path: Path | str) -> BinaryIO:
    """
    Open a file to read it, never through a symbolic link.

    :raise FileNotFoundError: There is none.
    :raise NotRegularError: It is not a regular file.
    :raise OSError: It cannot be read.
    """
    return os.fdopen(_opened(path)[0], "rb")


def _opened(path: Path | str) -> tuple[int, int]:
    """
    Open a file as ``open_regular`` does; return its descriptor and its size in bytes.

    A file object costs as much as reading a small file.
    """
    if not NO_LINK and os.path.islink(path):
        raise NotRegularError
    try:
        fd = os.open(path, _FLAGS)
    except OSError as e:
        if e.errno in _NOT_REGULAR:
            raise NotRegularError from None
        raise
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        os.close(fd)
        raise NotRegularError
    return fd, found.st_size


def read_bounded(path: Path | str, most: int) -> bytes:
    """
    Read a whole regular file.

    :param most: Bytes.
    :raise TooLargeError: It is larger; no more than ``most`` bytes and one were read.
    :raise OSError: See ``open_regular``.
    """
    fd, size = _opened(path)
    try:
        # One byte more than there should be: it ends where it should.
        content = os.read(fd, min(size, most) + 1)
        while size != len(content) <= most and (
            more := os.read(fd, min(most + 1 - len(content), MIB))
        ):
            content += more
    finally:
        os.close(fd)
    if len(content) > most:
        raise TooLargeError
    return content


def shown(path: str) -> str:
    """
    A file's name as a message may repeat it.

    Nothing that controls a terminal or the direction of text is left in it.
    """
    return printable(path)[:SHOWN_CHARACTERS]
