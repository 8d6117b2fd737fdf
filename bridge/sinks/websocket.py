"""
Sinks whose other end is a WebSocket server on this machine.

They connect when they start and again whenever the connection fails or is lost, later
each time until one has lasted.  ``up`` is an open socket; nothing is kept for later.

``xsoverlay``: XSOverlay's API, which its documentation prefers to datagrams
(https://xsoverlay.vercel.app/Developer/API/websockets/websockets).  The address must
name a client.  A frame is an envelope, with a command and its parameters as the text of
another JSON object.

``ovrtoolkit``: OVR Toolkit's API (https://wiki.ovrtoolkit.co.uk/#/Websocket).  A frame
is an object with a kind and, as the text of another, its parameters: a title, a body,
and an image in base64.  It uses nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from os import urandom
from typing import Any, ClassVar
from urllib.parse import quote

from attrs import field
from autobahn.twisted.websocket import WebSocketClientFactory, WebSocketClientProtocol
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.internet.protocol import ReconnectingClientFactory
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ..classes import define
from ..protocol import limits
from ..protocol.budgets import TokenBucket
from ..protocol.strictjson import dumps
from ..websocket import QuietLog, head, masked
from .fanout import Health, Notification, UnavailableError
from .overlay import Overlay, panel

LOOPBACK = "127.0.0.1"


@implementer(IPushProducer)
class SinkConnection(WebSocketClientProtocol):
    """
    One connection; what the other end sends is ignored, and little is expected.

    :ivar opened: Called when the connection is open.
    :ivar clock: A clock, in seconds.
    """

    log = QuietLog(WebSocketClientProtocol.log)
    transport: Any

    def __init__(
        self, opened: Callable[[SinkConnection], object], clock: Callable[[], float]
    ) -> None:
        super().__init__()
        self._opened = opened
        self._steps = TokenBucket(
            limits.SINK_FRAME_STEPS_PER_SECOND, limits.SINK_FRAME_STEPS_BURST, clock
        )
        self.is_paused = False

    def onOpen(self) -> None:
        """Report that it is open; called by Autobahn."""
        self.registerProducer(self, True)
        self._opened(self)

    def processHandshake(self) -> None:  # noqa: N802
        """Read the head that the other end answers with, up to a limit."""
        if b"\r\n\r\n" in self.data[: limits.HEAD_BYTES]:
            super().processHandshake()
        elif len(self.data) >= limits.HEAD_BYTES:
            self._fail_connection()

    def processData(self) -> bool:  # noqa: N802
        """Read the head of a frame, or what has come of its payload, up to a limit."""
        if self._steps.take() is None:
            self._fail_connection()
            return False
        going_on: bool = super().processData()
        return going_on

    def _fail_connection(self, code: int = 0, reason: str = "floods") -> None:
        """End the connection to a peer that breaks the protocol; try again later."""
        self.log.debug("the peer of a sink fails: {reason}", reason=reason)
        self.data, self.failedByMe = b"", True
        self.factory.postpone()
        self.transport.abortConnection()

    def send_text(self, text: bytes) -> None:
        """
        Send a text of any length.

        Autobahn's own ``sendMessage`` would hold it to the limit on what is received,
        and mask it byte by byte: 15 ms for an image.
        """
        mask = urandom(4)
        self.sendData(head(len(text), True, True, mask) + masked(text, mask))

    def pauseProducing(self) -> None:
        """Note that the other end reads too slowly."""
        self.is_paused = True

    def resumeProducing(self) -> None:
        """Note that the other end has caught up."""
        self.is_paused = False

    def stopProducing(self) -> None:
        """Do nothing: the factory hears of it as well."""


class SinkConnectionFactory(ReconnectingClientFactory, WebSocketClientFactory):  # type: ignore[misc]
    """
    Makes connections: Twisted's ``ClientService`` would log each attempt, forever.

    :ivar ended: Fires when the last connection is gone.
    :ivar opened: When the present connection was opened, in seconds.
    """

    noisy = False
    opened = math.inf
    ended: Deferred[None] | None = None

    def clientConnectionFailed(self, connector: Any, reason: Failure) -> None:
        """Try again, or end."""
        super().clientConnectionFailed(connector, reason)
        self._end()

    def clientConnectionLost(self, connector: Any, reason: Failure) -> None:
        """Try again, soon if the connection has lasted; or end."""
        if self.reactor.seconds() - self.opened >= limits.SINK_START_SECONDS:
            self.delay = self.initialDelay
        self.opened = math.inf
        super().clientConnectionLost(connector, reason)
        self._end()

    def postpone(self) -> None:
        """Wait long before the next attempt, however long the connection lasted."""
        self.delay, self.opened = self.maxDelay, math.inf

    def _end(self) -> None:
        if self.ended is not None:
            self.ended.callback(None)


@define(eq=False)
class WebSocketSink:
    """
    One such sink.

    :ivar port: Of the server, on 127.0.0.1.
    :ivar path: Of the server's URL.
    :ivar write: Writes a notification as the other end reads it: one text frame.
    """

    name: str
    description: str
    honours: tuple[str, ...]
    port: int
    path: str
    write: Callable[[Notification], bytes]
    _reactor: Any
    has_started: bool = field(default=False, init=False)
    _connection: SinkConnection | None = field(default=None, init=False)
    _client: Any = field(default=None, init=False)
    _connector: Any = field(default=None, init=False)

    _log: ClassVar[Logger] = Logger()

    def start(self) -> None:
        """See ``Sink``; it need not be there yet."""
        url = f"ws://{LOOPBACK}:{self.port}{self.path}"
        self._client = client = SinkConnectionFactory(url, reactor=self._reactor)
        now = self._reactor.seconds
        client.protocol = partial(SinkConnection, self._opened, now)  # type: ignore[assignment]
        client.clock = self._reactor
        client.maxDelay = int(limits.SINK_RETRY_SECONDS)
        client.setProtocolOptions(
            openHandshakeTimeout=limits.SINK_START_SECONDS,
            autoPingInterval=limits.PING_SECONDS,
            autoPingTimeout=limits.PONG_SECONDS,
            maxMessagePayloadSize=limits.SINK_FRAME_BYTES,
        )
        self._connector = self._reactor.connectTCP(
            LOOPBACK, self.port, client, timeout=limits.SINK_START_SECONDS
        )
        self.has_started = True

    def _opened(self, connection: SinkConnection) -> None:
        if self._connector is None:
            return  # it opened while we ended
        self._client.opened = self._reactor.seconds()
        self._connection = connection
        self._log.info("sink {name} is up", name=self.name)

    def _current(self) -> SinkConnection | None:
        found = self._connection
        return found if found is not None and found.state == found.STATE_OPEN else None

    def health(self) -> Health:
        return Health.DOWN if self._current() is None else Health.UP

    def deliver(self, notification: Notification) -> None:
        connection = self._current()
        if connection is None:
            raise UnavailableError("nothing there takes connections")
        if connection.is_paused:
            raise UnavailableError("it does not read what was sent")
        connection.send_text(self.write(notification))

    def close(self) -> Any:
        self.has_started = False
        if self._connector is None:
            return None
        connector, self._connector = self._connector, None
        self._client.stopTrying()
        if connector.state == "disconnected":
            return None
        self._client.ended = ended = Deferred[None]()
        connector.disconnect()
        # A peer that does not read would delay the shutdown.
        return ended.addTimeout(
            limits.SINK_CLOSE_SECONDS,
            self._reactor,
            lambda _, __: connector.transport.abortConnection(),
        )


def xsoverlay(reactor: Any, application: str, port: int = 42070) -> WebSocketSink:
    """Make the sink that sends to XSOverlay."""

    def write(notification: Notification) -> bytes:
        shown = dumps({"type": 1, **panel(notification)}).decode("utf-8")
        return dumps(
            {
                "sender": application,
                "target": "xsoverlay",
                "command": "SendNotification",
                "jsonData": shown,
                "rawData": None,
            }
        )

    return WebSocketSink(
        "xsoverlay",
        "XSOverlay, by its WebSocket",
        Overlay.honours,
        port,
        f"/?client={quote(application, safe='')}",
        write,
        reactor,
    )


def ovrtoolkit(reactor: Any, port: int = 11450) -> WebSocketSink:
    """Make the sink that sends to OVR Toolkit."""

    def write(notification: Notification) -> bytes:
        shown = {"title": notification.title, "body": notification.content}
        if notification.image:
            shown["icon"] = notification.image
        text = dumps(shown).decode("utf-8")
        return dumps({"messageType": "SendNotification", "json": text})

    return WebSocketSink(
        "ovrtoolkit",
        "OVR Toolkit, by its WebSocket",
        ("title", "content", "icon", "useBase64Icon"),
        port,
        "/api",
        write,
        reactor,
    )
