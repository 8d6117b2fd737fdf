"""
Unix sockets in the data directory that only this user can connect to.

The file has mode 0600 from its first moment.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, Final

from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort, IProtocolFactory

from ..system.users import is_own

MODE: Final = 0o600

# What the shortest of sockaddr_un holds, less its end.
_MOST_PATH_BYTES: Final = 103


def listen_privately(
    reactor: Any, path: Path, factory: IProtocolFactory, backlog: int
) -> IListeningPort:
    """
    Listen on a path, and replace the socket of a daemon that was killed.

    Call it while no other thread makes files: it changes the umask for a moment.

    :raise OSError: It can't be listened on; the message is the reason.
    """
    if not hasattr(reactor, "listenUNIX"):
        raise OSError("this system has no Unix sockets")
    before = os.umask(0o777 - MODE)
    try:
        _make_room(path)
        port: IListeningPort = reactor.listenUNIX(
            str(path), factory, backlog=backlog, mode=MODE
        )
    except CannotListenError as e:
        raise OSError(str(e.socketError)) from None
    finally:
        os.umask(before)
    return port


def _make_room(path: Path) -> None:
    """
    Remove the socket of a daemon that was killed.

    :raise OSError: The path is not a socket, or another user's; or it is longer than a
        socket's path may be, and Twisted would leak a socket.
    """
    if len(os.fsencode(path)) > _MOST_PATH_BYTES:
        raise OSError(f"{path} is too long for a socket")
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode) or not is_own(found):
        raise OSError(f"{path} is not a socket of ours")
    path.unlink()
