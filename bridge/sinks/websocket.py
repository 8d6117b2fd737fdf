"""
A sink whose other end is a WebSocket server on this machine.

It connects when it starts and again whenever the connection is lost, later each time
(Twisted's ``ClientService``).  ``up`` is an open socket; nothing is kept for later.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from attrs import define, field
from autobahn.twisted.websocket import WebSocketClientFactory, WebSocketClientProtocol
from twisted.application.internet import ClientService, backoffPolicy
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.interfaces import IPushProducer
from twisted.logger import Logger
from zope.interface import implementer

from ..protocol.limits import (
    PING_SECONDS,
    PONG_SECONDS,
    SINK_FRAME_BYTES,
    SINK_RETRY_SECONDS,
    SINK_START_SECONDS,
)
from .fanout import Health, ISink, UnavailableError
from .notification import Notification

LOOPBACK = "127.0.0.1"

_backoff = backoffPolicy(0.5, SINK_RETRY_SECONDS)


@implementer(IPushProducer)
class Connection(WebSocketClientProtocol):
    """
    One connection; what the other end sends is not looked at.

    :ivar opened: Called when it is of use.
    """

    def __init__(self, opened: Callable[[Connection], object]) -> None:
        super().__init__()
        self._opened = opened
        self.is_serving = False
        self.is_paused = False

    def onOpen(self) -> None:  # noqa: N802
        """Be of use: see Autobahn."""
        self.is_serving = True
        self.registerProducer(self, True)
        self._opened(self)

    def onClose(self, wasClean: bool, code: int, reason: str) -> None:  # noqa: N802, N803
        """Be of use no more; also called when it never was."""
        self.is_serving = False

    def drop(self) -> None:
        """Close the connection at once."""
        self.transport.abortConnection()  # type: ignore[union-attr]

    def pauseProducing(self) -> None:  # noqa: N802
        """Take it that the other end reads too slowly."""
        self.is_paused = True

    def resumeProducing(self) -> None:  # noqa: N802
        """Take it that it has caught up."""
        self.is_paused = False

    def stopProducing(self) -> None:  # noqa: N802
        """Take it that the connection is lost; ``onClose`` is told too."""


@implementer(ISink)
@define(eq=False)
class WebSocketSink:
    """
    What such sinks share; each has a name, a port, and a way to write a notification.

    :ivar port: Of the server, on 127.0.0.1.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    honours: ClassVar[tuple[str, ...]]

    _reactor: Any
    _application: str
    port: int
    has_started: bool = field(default=False, init=False)
    _connection: Connection | None = field(default=None, init=False)
    _service: ClientService | None = field(default=None, init=False)
    _attempts: int = field(default=0, init=False)

    _log: ClassVar[Logger] = Logger()

    def write(self, notification: Notification) -> bytes:
        """
        Write a notification as the other end reads it: one text frame.

        :raise RejectedError: It can't be shown there.
        """
        raise NotImplementedError

    def path(self) -> str:
        """Give the path of the server's URL."""
        raise NotImplementedError

    def start(self) -> None:
        """See ``ISink``; it need not be there yet."""
        url = f"ws://{LOOPBACK}:{self.port}{self.path()}"
        factory = WebSocketClientFactory(url, reactor=self._reactor)
        factory.protocol = partial(Connection, self._opened)  # type: ignore[assignment]
        factory.noisy = False
        factory.setProtocolOptions(
            openHandshakeTimeout=SINK_START_SECONDS,
            autoPingInterval=PING_SECONDS,
            autoPingTimeout=PONG_SECONDS,
            maxFramePayloadSize=SINK_FRAME_BYTES,
            maxMessagePayloadSize=SINK_FRAME_BYTES,
        )
        self._service = ClientService(
            TCP4ClientEndpoint(self._reactor, LOOPBACK, self.port),
            factory,
            self._pause,
            clock=self._reactor,
        )
        self._service.startService()
        self.has_started = True

    def _pause(self, _: int) -> float:
        """Wait longer each time until a handshake, not just a connect, succeeds."""
        self._attempts += 1
        return _backoff(self._attempts)

    def _opened(self, connection: Connection) -> None:
        self._connection, self._attempts = connection, 0
        self._log.info("sink {name} is up", name=self.name)

    def health(self) -> Health:
        """See ``ISink``."""
        is_up = self._connection is not None and self._connection.is_serving
        return Health.UP if is_up else Health.DOWN

    def deliver(self, notification: Notification) -> None:
        """See ``ISink``."""
        connection = self._connection
        if connection is None or not connection.is_serving:
            raise UnavailableError("nothing there takes connections")
        if connection.is_paused:
            raise UnavailableError("it does not read what was sent")
        text = self.write(notification)
        connection.sendMessage(text, isBinary=False)

    def close(self) -> Any:
        """See ``ISink``."""
        self.has_started = False
        service, self._service = self._service, None
        if service is None:
            return None
        stopping = service.stopService()
        connection, self._connection = self._connection, None
        if connection is not None and connection.is_serving:
            # Who reads no more would keep the daemon from ending.
            timer = self._reactor.callLater(1.0, connection.drop)
            stopping.addBoth(lambda _: timer.active() and timer.cancel())
        return stopping
