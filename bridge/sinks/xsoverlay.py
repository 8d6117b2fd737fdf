"""
The ``xsoverlay`` sink: XSOverlay's WebSocket API, which its documentation prefers to
datagrams (https://xsoverlay.vercel.app/Developer/API/websockets/websockets).

The address must name a client.  A frame is an envelope, with a command and its
parameters as the text of another JSON object.
"""

from __future__ import annotations

from typing import ClassVar, Final
from urllib.parse import quote

from ..classes import define
from ..protocol.strictjson import dumps
from .notification import Notification
from .overlay import Overlay, panel
from .parts import SinkParts
from .websocket import WebSocketSink

PORT: Final = 42070


@define(eq=False)
class XSOverlay(WebSocketSink):
    """Sends to XSOverlay."""

    name: ClassVar[str] = "xsoverlay"
    description: ClassVar[str] = "XSOverlay, by its WebSocket"
    honours: ClassVar[tuple[str, ...]] = Overlay.honours

    def path(self) -> str:
        """See ``WebSocketSink``; XSOverlay requires the client's name."""
        return f"/?client={quote(self._application, safe='')}"

    def write(self, notification: Notification) -> bytes:
        """See ``WebSocketSink``."""
        shown = dumps({"type": 1, **panel(notification)}).decode("utf-8")
        return dumps(
            {
                "sender": self._application,
                "target": "xsoverlay",
                "command": "SendNotification",
                "jsonData": shown,
                "rawData": None,
            }
        )


def make(parts: SinkParts) -> XSOverlay:
    """Make the sink."""
    return XSOverlay(parts.reactor, parts.application, PORT)
