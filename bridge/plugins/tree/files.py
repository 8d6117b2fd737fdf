"""Reading files of a tree that somebody else made."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

from ...datadir.ownership import check_open
from ...protocol.text import printable
from ...system.files import BINARY, NO_INHERIT, NO_LINK, NO_WAIT

SHOWN_CHARACTERS: Final = 200

_FLAGS: Final = os.O_RDONLY | NO_LINK | NO_WAIT | NO_INHERIT | BINARY


class NotRegularError(OSError):
    """What should be a file is a link, a directory, a pipe or a device."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "not a regular file")


class TooLargeError(OSError):
    """A file is larger than its limit."""


def open_regular(path: Path) -> BinaryIO:
    """
    Open a file to read it, never through a symbolic link.

    :raise FileNotFoundError: There is none.
    :raise NotRegularError: It is not a regular file.
    :raise OSError: It cannot be read.
    """
    if path.is_symlink():
        raise NotRegularError
    try:
        fd = os.open(path, _FLAGS)
    except OSError as e:
        if e.errno == errno.ENXIO:  # a socket, or a device that is not there
            raise NotRegularError from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise NotRegularError
    return os.fdopen(fd, "rb")


def open_own(path: Path) -> BinaryIO:
    """
    Open a file of the data directory to read it: nobody else may have written it.

    :raise NotOwnError: Another user owns it, or may write it.
    :raise OSError: See ``open_regular``.
    """
    file = open_regular(path)
    try:
        check_open(path, file.fileno())
    except BaseException:
        file.close()
        raise
    return file


def read_own(path: Path, most: int) -> bytes:
    """
    Read a whole file of the data directory; see ``open_own`` and ``read_bounded``.

    :param most: Bytes.
    """
    with open_own(path) as file:
        return _bounded(file, most)


def read_bounded(path: Path, most: int) -> bytes:
    """
    Read a whole regular file.

    :param most: Bytes.
    :raise TooLargeError: It is larger; no more than ``most`` bytes and one were read.
    :raise OSError: See ``open_regular``.
    """
    with open_regular(path) as file:
        return _bounded(file, most)


def _bounded(file: BinaryIO, most: int) -> bytes:
    content = file.read(most + 1)
    if len(content) > most:
        raise TooLargeError
    return content


def shown(path: str) -> str:
    """
    A file's name as a message may repeat it.

    Nothing that controls a terminal or the direction of text is left in it.
    """
    return printable(path)[:SHOWN_CHARACTERS]
