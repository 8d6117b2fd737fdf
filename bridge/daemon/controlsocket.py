"""
The control socket: how commands reach the daemon, each as a page does.

Every daemon listens on it: a Unix socket with mode 0600 in the data directory.  The
frames are those of a page's WebSocket, one JSON text a line, beginning with ``hello``;
budgets, methods and prompts are a page's too.  What is added is the kernel's word on
who connects, the reason of a close as a last line, and with ``--dev`` the methods that
link working trees, which no page can reach.

::

    {"type": "close", "code", "reason"}

Where there can be no such socket (system or file system have none, or its path is long)
the daemon listens on a loopback port of its own, and a file in the same place has the
address.  A browser that sends a request there begins with no ``hello``.

Any connection makes the daemon look at its token file: ``--rotate-token`` does no more
than that (docs/decisions/0061).
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final

from attrs import field
from twisted.internet.defer import Deferred, DeferredList, maybeDeferred, succeed
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import (
    IAddress,
    IDelayedCall,
    IListeningPort,
    IReactorUNIX,
)
from twisted.internet.protocol import Factory, connectionDone
from twisted.logger import Logger
from twisted.protocols.basic import LineReceiver
from twisted.python.failure import Failure

from ..classes import define
from ..datadir.paths import (
    LOOPBACK,
    connected,
    control_address,
    remove_left,
    write_atomically,
)
from ..protocol.errors import CloseReason
from ..protocol.limits import (
    CLOSE_SECONDS,
    CONTROL_BACKLOG,
    CONTROL_CONNECTIONS,
    FRAME_BYTES,
    HELLO_FRAME_BYTES,
)
from ..protocol.strictjson import dumps
from ..system.files import is_user
from ..web.websocket.conversation import Conversation, SharedContext

MODE: Final = 0o600

_PATIENCE_SECONDS: Final = 1.0
# What the shortest of sockaddr_un holds, less its end.
_MOST_PATH_BYTES: Final = 103
# struct ucred of unix(7): process, user, group.
_CREDENTIALS: Final = struct.Struct("3i")


def announce_token(path: Path) -> None:
    """
    Have the daemon of a control socket, if there is one, look at its token.

    :param path: See ``DataDir.control_socket``.
    """
    with contextlib.suppress(OSError):
        connected(control_address(path), _PATIENCE_SECONDS).close()


def peer_user(peer: socket.socket) -> int | None:
    """
    Return the user of the process that has connected.

    :return: ``None`` where the system does not report it: the token decides.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None or peer.family == socket.AF_INET:
        return None
    found = peer.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size)
    user: int = _CREDENTIALS.unpack(found)[1]
    return user


class ControlConnection(LineReceiver):
    """
    One command.

    :ivar ended: Fires when it has gone.
    """

    delimiter = b"\n"
    is_page = False
    transport: Any

    def __init__(self, context: SharedContext, admitted: Callable[[], object]) -> None:
        self.MAX_LENGTH = HELLO_FRAME_BYTES
        self.ended: Deferred[None] = Deferred()
        self._context = context
        self._admitted = admitted
        self._conversation: Conversation | None = None
        self._lingering: IDelayedCall | None = None
        self._open = True

    def connectionMade(self) -> None:
        """Begin the conversation, with a process of this user."""
        if not is_user(peer_user(self.transport.getHandle())):
            self.transport.abortConnection()
            return
        self._admitted()
        self._conversation = Conversation(self._context, self)
        self.transport.registerProducer(self._conversation.send_queue, True)

    def lineReceived(self, line: bytes) -> None:
        """Accept one frame."""
        if self._conversation is not None and self._open:
            self._conversation.received(line)

    def lineLengthExceeded(self, line: bytes) -> None:
        """Close: no frame is that long."""
        self.close(CloseReason.TOO_BIG)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """End the conversation."""
        self._open = False
        if self._lingering is not None and self._lingering.active():
            self._lingering.cancel()
        if self._conversation is not None:
            self._conversation.ended()
        self.ended.callback(None)

    def close(self, reason: CloseReason) -> None:
        """Close the connection, with a reason."""
        if self._conversation is not None:
            self._conversation.close(reason)

    def send_piece(self, piece: bytes, first: bool, last: bool) -> None:
        if self._open:
            self.transport.write(piece + b"\n" if last else piece)

    def close_with(self, reason: CloseReason) -> None:
        if self._open:
            self._open = False
            last = {"type": "close", "code": reason.code, "reason": str(reason)}
            self.transport.write(dumps(last) + b"\n")
            self.transport.unregisterProducer()
            # What is unsent goes first, but a command that does not read is not
            # waited for.
            self._lingering = self._context.clock.callLater(
                CLOSE_SECONDS, self.transport.abortConnection
            )
            self.transport.loseConnection()

    def welcomed(self) -> bool:
        self.MAX_LENGTH = FRAME_BYTES
        return True


@define(eq=False, repr=False)
class ControlSocket(Factory):
    """
    Listens for commands.

    :ivar path: Where; see ``DataDir.control_socket``.
    :ivar context: What all connections share.
    :ivar admitted: Called when this user has connected.
    """

    _reactor: Any
    path: Path
    _context: SharedContext
    _admitted: Callable[[], object]
    _port: IListeningPort | None = field(default=None, init=False)
    _connections: list[ControlConnection] = field(factory=list, init=False)
    noisy: bool = field(default=False, init=False)

    _log: ClassVar[Logger] = Logger(namespace="bridge")

    def listen(self) -> None:
        """Listen, or log why no command can connect."""
        try:
            remove_left(self.path)
            self._port = self._listen_unix() or self._listen_tcp()
        except (OSError, CannotListenError) as e:
            error = getattr(e, "socketError", e)
            why = getattr(error, "strerror", None) or error
            self._log.warn("commands cannot connect: {why}", why=why)

    def _listen_unix(self) -> IListeningPort | None:
        """Listen on the path; ``None`` where there can be no Unix socket."""
        if not IReactorUNIX.providedBy(self._reactor):
            return None
        if len(os.fsencode(self.path)) > _MOST_PATH_BYTES:
            return None  # Twisted would leak a socket
        # Twisted sets the mode before it listens: until then it refuses.
        try:
            port: IListeningPort = self._reactor.listenUNIX(
                str(self.path), self, backlog=CONTROL_BACKLOG, mode=MODE
            )
        except CannotListenError:
            # A file system without them; exFAT leaves a file, which is replaced.
            return None
        return port

    def _listen_tcp(self) -> IListeningPort:
        port: IListeningPort = self._reactor.listenTCP(
            0, self, backlog=CONTROL_BACKLOG, interface=LOOPBACK
        )
        self._port = port  # also when its file can't be written
        address: Any = port.getHost()
        write_atomically(self.path, f"{LOOPBACK}:{address.port}\n".encode())
        return port

    def buildProtocol(self, addr: IAddress | None) -> ControlConnection | None:
        """Accept a command, unless there are too many."""
        if len(self._connections) >= CONTROL_CONNECTIONS:
            return None
        made = ControlConnection(self._context, self._admitted)
        self._connections.append(made)
        made.ended.addCallback(lambda _: self._connections.remove(made))
        return made

    def close(self) -> Deferred[Any]:
        """Stop listening, and remove the file; open connections stay."""
        port, self._port = self._port, None
        if port is None:
            return succeed(None)
        # Twisted removes a Unix socket itself.
        closing = maybeDeferred(port.stopListening)
        return closing.addCallback(lambda _: self.path.unlink(missing_ok=True))

    def close_all(self, reason: CloseReason) -> Deferred[Any]:
        """
        Close every connection.

        :return: Fires when all of them have ended.
        """
        connections = list(self._connections)
        ended = DeferredList([connection.ended for connection in connections])
        for connection in connections:
            connection.close(reason)
        return ended
