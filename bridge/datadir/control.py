"""Where commands reach a daemon: see ``DataDir.control_socket``."""

from __future__ import annotations

import contextlib
import errno
import re
import socket
import stat
from pathlib import Path
from typing import Final

from ..system.users import is_own

LOOPBACK: Final = "127.0.0.1"
_FILE: Final = re.compile(rb"127\.0\.0\.1:([0-9]{1,5})\n")
_FILE_BYTES: Final = 32

ControlAddress = str | tuple[str, int]
"""A path, or a loopback address where there can be no Unix socket."""


class NotASocketError(OSError):
    """There is something else than a socket of this user, or a file that names one."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ENOTSOCK, f"{path} is not a socket of your user")


def control_address(path: Path) -> ControlAddress:
    """
    Return where a daemon listens for commands, or did before it was killed.

    :raise FileNotFoundError: Nothing is there.
    :raise NotASocketError: It can't be where one listens.
    """
    found = path.lstat()
    if is_own(found):
        if stat.S_ISSOCK(found.st_mode):
            return str(path)
        if stat.S_ISREG(found.st_mode) and found.st_size <= _FILE_BYTES:
            port = _FILE.fullmatch(path.read_bytes())
            if port is not None:
                return LOOPBACK, int(port[1])
    raise NotASocketError(path)


def remove_left(path: Path) -> None:
    """
    Remove what a daemon that was killed has left there.

    :raise OSError: There is something else, or it can't be removed.
    """
    with contextlib.suppress(FileNotFoundError):
        control_address(path)
        path.unlink()


def connected(address: ControlAddress, seconds: float) -> socket.socket:
    """
    Connect to a daemon.

    :param seconds: How long each call of the socket may take.
    :raise OSError: Nobody listens there.
    """
    unix = isinstance(address, str)
    made = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
    try:
        made.settimeout(seconds)
        made.connect(address)
    except BaseException:
        made.close()
        raise
    return made
