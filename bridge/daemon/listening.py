"""
The listening socket: the daemon's own, or one that it inherits.

A supervisor may open the socket, and start the daemon at the first connection
(sd_listen_fds(3)).  The same rules hold for both kinds.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import ipaddress
import os
import socket
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from twisted.internet.interfaces import IListeningPort

from ..classes import define
from ..protocol.errors import UserError
from ..settings.values import HTTP_PORT, Address, UnixAddress
from ..system.files import is_own

_FIRST: Final = 3
_COUNT: Final = "LISTEN_FDS"
_PROCESS: Final = "LISTEN_PID"
_VARIABLES: Final = (_COUNT, _PROCESS, "LISTEN_FDNAMES", "LISTEN_PIDFDID")
_BACKLOG: Final = 128


class StartError(UserError):
    """The daemon can't start; the message is the one line its user sees."""


@define(eq=False, repr=False)
class Listening:
    """
    A listening socket, until the reactor has adopted it.

    :ivar address: Where it listens.
    """

    _socket: socket.socket
    address: Address | UnixAddress

    @property
    def port(self) -> int:
        """The port a Host header must name; a path has none, so HTTP's default."""
        return self.address.port if isinstance(self.address, Address) else HTTP_PORT

    def __str__(self) -> str:
        scheme = "http://" if isinstance(self.address, Address) else ""
        return f"{scheme}{self.address}"

    def serve(self, reactor: Any, factory: Any) -> IListeningPort:
        """Hand the socket to the reactor, with a factory for its connections."""
        fd = self._socket.fileno()
        if isinstance(self.address, Address):
            port: Any = reactor.adoptStreamPort(fd, self._socket.family, factory)
        else:
            port = _adopt_unix(reactor, fd, factory)
        self._socket.close()
        return port  # type: ignore[no-any-return]

    def close(self) -> None:
        """Close the socket, if the reactor has not adopted it."""
        self._socket.close()


def bind(address: Address) -> Listening:
    """
    Listen on a loopback address.

    This happens before the service starts, so that the process in the foreground
    reports a taken port, in one line.

    :raise StartError: The port is taken, or can't be listened on.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listening = socket.create_server(
            (address.host, address.port), family=family, backlog=_BACKLOG
        )
    except OSError as e:
        # Python adds the address to the words of the system, a second time here.
        why = os.strerror(e.errno or 0)
        if e.errno == errno.EADDRINUSE:
            why = "another program does; end it, or set BRIDGE_LISTEN"
        raise StartError(f"cannot listen on {address}: {why}") from None
    return _ready(listening)


def is_taken(address: Address) -> bool:
    """Whether an address cannot be listened on; port 0 always can."""
    try:
        bind(address).close()
    except StartError:
        return True
    return False


def knock(address: Address, seconds: float) -> None:
    """
    Make a request, so that a supervisor which listens there starts its daemon.

    Whatever answers, or nothing, is ignored.
    """
    connection = http.client.HTTPConnection(address.host, address.port, timeout=seconds)
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/v1/health")
        connection.getresponse()
    connection.close()


def inherited_socket() -> Listening | None:
    """
    Return the socket that a supervisor has opened for this process.

    :return: ``None`` when there is none.
    :raise StartError: See ``inherit``.
    """
    for name in _VARIABLES:
        os.environ.pop(name, None)
    return inherit(_started_with(), os.getpid())


def _started_with() -> dict[str, str]:
    """Return the environment of the start; Twisted removes its part when imported."""
    try:
        lines = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    pairs = (os.fsdecode(line).partition("=") for line in lines)
    return {name: value for name, _, value in pairs}


def inherit(environ: Mapping[str, str], pid: int) -> Listening | None:
    """
    Return the socket that was opened for a process.

    :param environ: What the process was started with.
    :return: ``None`` when there is none for this process.
    :raise StartError: It is not one that this daemon may listen on.
    """
    count = environ.get(_COUNT, "")
    if environ.get(_PROCESS) != str(pid) or count in ("", "0"):
        return None
    if count != "1":
        raise StartError("LISTEN_FDS: there must be one inherited socket")
    try:
        inherited = socket.socket(fileno=_FIRST)
    except OSError:
        raise StartError("the inherited file descriptor 3 is not a socket") from None
    try:
        os.set_inheritable(_FIRST, False)
        _check(inherited)
        return _ready(inherited)
    except BaseException:
        inherited.close()
        raise


def _ready(listening: socket.socket) -> Listening:
    listening.setblocking(False)
    if listening.family in (socket.AF_INET, socket.AF_INET6):
        host, port = listening.getsockname()[:2]
        return Listening(listening, Address(host, port))
    return Listening(listening, UnixAddress(os.path.abspath(listening.getsockname())))


def _check(inherited: socket.socket) -> None:
    """
    Check that the socket is one that this daemon would have opened.

    :raise StartError: It is not.
    """
    if inherited.type != socket.SOCK_STREAM:
        raise StartError("the inherited socket must be a stream socket")
    if not inherited.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise StartError("the inherited socket must be a listening one (Accept=no)")
    if inherited.family in (socket.AF_INET, socket.AF_INET6):
        host = inherited.getsockname()[0].partition("%")[0]
        if not ipaddress.ip_address(host).is_loopback:
            raise StartError("the inherited socket must listen on a loopback address")
    elif not _is_private(inherited.getsockname()):
        raise StartError(
            "the inherited Unix-domain socket must be a file of this user, mode 0600"
        )


def _is_private(name: object) -> bool:
    """Whether only this user can connect; an abstract name is open to every user."""
    if type(name) is not str or not name:
        return False
    with contextlib.suppress(OSError):
        status = os.lstat(name)
        own = stat.S_ISSOCK(status.st_mode) and is_own(status)
        return own and not status.st_mode & 0o077
    return False


def _adopt_unix(reactor: Any, fd: int, factory: Any) -> Any:
    from twisted.internet import unix  # there is none on Windows

    port: Any = unix.Port._fromListeningDescriptor(reactor, fd, factory)
    # Given the path, Twisted would open the file to every user, and remove it at the
    # end.  An abstract name has no file; we serve the descriptor.
    port._bindPath = b"\0inherited"
    # At its end Twisted would shut the socket down, in every process that has it, as
    # it does not with one of TCP that it adopts; nobody could connect any more.
    port._shouldShutdown = False
    port.startListening()
    return port
