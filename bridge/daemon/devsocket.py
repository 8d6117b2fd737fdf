"""
The socket of ``plugin-bridge dev``: JSON lines between two processes of one user.

It is a Unix socket with mode 0600 in the data directory, and only a daemon with
``--dev`` listens there.  A page can't reach it: browsers do not connect to Unix
sockets, and it is not a service.

::

    client                              daemon
                                        {"type": "ready", "version"}
    {"directory", "files"}              {"type": "linked", "id", …, "report"}
    {"directory", "files"}              {"type": "refused", "message", "hits"}
    anything else                       {"type": "error", "message"}, and it is closed

The tree is linked as long as the connection lasts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from attrs import define, field, frozen
from twisted.internet.defer import Deferred, DeferredList, maybeDeferred
from twisted.internet.interfaces import IListeningPort
from twisted.internet.protocol import Factory, connectionDone
from twisted.logger import Logger
from twisted.protocols.basic import LineReceiver
from twisted.python.failure import Failure

from ..concurrency.singleflight import SingleFlight
from ..plugins.dev.linking import LinkedTree, Linking, SourcesRefusedError
from ..protocol.errors import SHUTTING_DOWN, BridgeError, Code, Prefix
from ..protocol.limits import (
    DEV_DIRECTORY_CHARACTERS,
    DEV_LINE_BYTES,
    DEV_LINKS,
    TREE_FILES,
    TREE_PATH_BYTES,
)
from ..protocol.rules import Many, Text
from ..protocol.strictjson import dumps, loads
from ..protocol.wire import converter, structure, unstructure
from .privatesocket import listen_privately


@frozen
class WorkTree:
    """
    What a client asks to have linked.

    :ivar directory: Its absolute path.
    :ivar files: Relative paths with ``/``.
    """

    directory: Annotated[
        str, Text(DEV_DIRECTORY_CHARACTERS, like=r"(?s)/[^\0]*", least=1)
    ]
    files: Annotated[
        list[Annotated[str, Text(TREE_PATH_BYTES, like=r"(?s)[^\0]*", least=1)]],
        Many(TREE_FILES, unique=True),
    ]


def read_work_tree(line: bytes) -> WorkTree:
    """
    Read what a client has sent.

    :raise BridgeError: ``bad_request``, naming the field and the rule.
    """
    return structure(converter, loads(line), WorkTree)


class DevConnection(LineReceiver):
    """
    One client.

    :ivar ended: Fires when it has gone and its link has ended.
    """

    delimiter = b"\n"
    MAX_LENGTH = DEV_LINE_BYTES

    _log = Logger()

    def __init__(self, link: LinkedTree, version: str) -> None:
        self.ended: Deferred[None] = Deferred()
        self._link = link
        self._version = version
        self._next: WorkTree | None = None
        self._gone = False
        self._flight = SingleFlight("linking a plugin", self._take_turn)

    def connectionMade(self) -> None:
        """Send ``ready``."""
        self._send({"type": "ready", "version": self._version})

    def lineReceived(self, line: bytes) -> None:
        """Link a tree; of the requests that come meanwhile, only the last counts."""
        try:
            self._next = read_work_tree(line)
        except BridgeError as e:
            self.refuse(e.message)
            return
        self._flight.ask()

    def lineLengthExceeded(self, line: bytes) -> None:
        """Refuse a line too long for a tree that can be installed."""
        self.refuse(f"a line is at most {DEV_LINE_BYTES} bytes")

    def refuse(self, message: str) -> None:
        """Send an error, and close the connection."""
        self._send({"type": "error", "message": message})
        self._transport.loseConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Unlink, when the work under way has ended."""
        self._gone = True
        self._next = None
        self._flight.ask()

    async def _take_turn(self) -> None:
        if self._next is not None:
            asked, self._next = self._next, None
            self._send(await self._update(asked))
        elif self._gone:
            try:
                await self._link.end()
            except Exception:  # noqa: BLE001
                self._log.failure("could not unlink a plugin")
            self.ended.callback(None)

    async def _update(self, asked: WorkTree) -> dict[str, Any]:
        message, hits = "", []
        try:
            linked = await self._link.update(Path(asked.directory), asked.files)
            return {"type": "linked", **unstructure(linked)}
        except SourcesRefusedError as e:
            message, hits = f"{Prefix.POLICY}: {e.hits[0].report}", e.hits
        except BridgeError as e:
            message = e.message
        except Exception:  # noqa: BLE001
            self._log.failure("could not link a plugin")
            message = f"{Code.INTERNAL}: see the daemon's log"
        return {"type": "refused", "message": message, "hits": unstructure(hits)}

    def _send(self, message: dict[str, Any]) -> None:
        if not self._gone:
            self._transport.write(dumps(message) + b"\n")

    @property
    def _transport(self) -> Any:
        return self.transport


@define(eq=False)
class DevSocket:
    """
    Listens for ``plugin-bridge dev``.

    :ivar path: Where; see ``DataDir.dev_socket``.
    """

    _reactor: Any
    path: Path
    _linking: Linking
    _version: str
    _port: IListeningPort | None = field(default=None, init=False)
    _open: list[DevConnection] = field(factory=list, init=False)

    _log: ClassVar[Logger] = Logger()

    def listen(self) -> None:
        """
        Listen; if that fails, log the reason and continue without the socket.

        Call it while no other thread makes files; see ``listen_privately``.
        """
        connections = _Connections(self)
        try:
            self._port = listen_privately(
                self._reactor, self.path, connections, DEV_LINKS
            )
        except OSError as e:
            why = e.strerror or e
            self._log.warn("plugin-bridge dev cannot be used: {why}", why=why)

    def connection(self) -> DevConnection:
        """Make the protocol of one client."""
        made = DevConnection(self._linking.begin(), self._version)
        self._open.append(made)
        made.ended.addCallback(lambda _: self._open.remove(made))
        return made

    @property
    def full(self) -> bool:
        """Whether no more clients are accepted."""
        return len(self._open) >= DEV_LINKS

    def close(self) -> Deferred[Any]:
        """
        Stop listening, and end every link.

        :return: Fires when nothing is linked any more.
        """
        return Deferred.fromCoroutine(self._close())

    async def _close(self) -> None:
        if self._port is not None:
            await maybeDeferred(self._port.stopListening)
        ended: list[Deferred[None]] = []
        for client in list(self._open):
            waiting: Deferred[None] = Deferred()
            client.ended.chainDeferred(waiting)
            ended.append(waiting)
            client.refuse(SHUTTING_DOWN)
        await DeferredList(ended)


class _Connections(Factory):
    noisy = False

    def __init__(self, socket: DevSocket) -> None:
        self._socket = socket

    def buildProtocol(self, addr: Any) -> DevConnection | None:
        """Accept a client, unless there are too many."""
        return None if self._socket.full else self._socket.connection()
