"""
The control socket: how ``plugin-bridge list``, ``install`` and so on reach the daemon.

It is a Unix socket with mode 0600 in the data directory, which every daemon listens
on.  It has the routes of a daemon without ``--dev``: the same ``hello`` with the token,
the same methods and prompts.  What is added is the kernel's word on who connects.
Whoever connects makes the daemon look at its token file: ``--rotate-token`` does no
more than that (docs/decisions/0088).
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final

from attrs import define, field
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IAddress, IListeningPort, IProtocolFactory
from twisted.internet.protocol import Factory, Protocol
from twisted.logger import Logger

from ..protocol.limits import CONTROL_BACKLOG
from ..system.users import is_user
from .privatesocket import listen_privately

# struct ucred of unix(7): process, user, group.
_CREDENTIALS: Final = struct.Struct("3i")

_PATIENCE_SECONDS: Final = 1.0


def announce_token(path: Path) -> None:
    """
    Have the daemon of a control socket, if there is one, look at its token.

    :param path: See ``DataDir.control_socket``.
    """
    if not hasattr(socket, "AF_UNIX"):
        return
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_PATIENCE_SECONDS)
        connection.connect(str(path))


def peer_user(connected: socket.socket) -> int | None:
    """
    Return the user of the process that has connected.

    :return: ``None`` where the system does not report it: the file's mode decides.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    found = connected.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size)
    user: int = _CREDENTIALS.unpack(found)[1]
    return user


class _Admission(Protocol):
    """Hands a connection of this user to the site, and closes every other."""

    def __init__(
        self,
        site: IProtocolFactory,
        address: IAddress | None,
        admitted: Callable[[], object],
    ) -> None:
        self._site = site
        self._address = address
        self._admitted = admitted

    def connectionMade(self) -> None:
        transport: Any = self.transport
        if not is_user(peer_user(transport.getHandle())):
            transport.abortConnection()
            return
        self._admitted()
        channel: Any = self._site.buildProtocol(self._address)  # type: ignore[arg-type]
        if channel is None:
            transport.abortConnection()
            return
        transport.protocol = channel
        channel.makeConnection(transport)


class Admissions(Factory):
    """
    Checks who connects before the site sees the connection.

    :param site: Serves the connections of this user.
    :param admitted: Called when such a connection was made.
    """

    noisy = False

    def __init__(self, site: IProtocolFactory, admitted: Callable[[], object]) -> None:
        self._site = site
        self._admitted = admitted

    def buildProtocol(self, addr: IAddress | None) -> Protocol:
        """Accept a connection, which is checked once it is made."""
        return _Admission(self._site, addr, self._admitted)


@define(eq=False, repr=False)
class ControlSocket:
    """
    Listens for the commands that manage plugins.

    :ivar path: Where; see ``DataDir.control_socket``.
    :ivar admitted: Called when this user has connected.
    """

    _reactor: Any
    path: Path
    _site: Any
    _admitted: Callable[[], object]
    _port: IListeningPort | None = field(default=None, init=False)

    _log: ClassVar[Logger] = Logger(namespace="bridge")

    def listen(self) -> bool:
        """
        Listen; if that fails, log the reason: commands use the daemon's address then.

        :return: Whether it listens.

        Call it while no other thread makes files; see ``listen_privately``.
        """
        # The site begins what it needs once it is listened on.
        factory = Admissions(self._site, self._admitted)
        try:
            self._port = listen_privately(
                self._reactor, self.path, factory, CONTROL_BACKLOG
            )
        except OSError as e:
            self._log.info("there is no control socket: {why}", why=e.strerror or e)
            return False
        return True

    def close(self) -> Deferred[Any]:
        """Stop listening, and remove the file; open connections stay."""
        if self._port is None:
            return maybeDeferred(lambda: None)
        return maybeDeferred(self._port.stopListening)
