"""
The ``ovrtoolkit`` sink: OVR Toolkit's WebSocket API
(https://wiki.ovrtoolkit.co.uk/#/Websocket).

A frame is an object with a kind and, as the text of another, its parameters: a title,
a body, and an image in base64.  It uses nothing else.
"""

from __future__ import annotations

from typing import ClassVar, Final

from ..classes import define
from ..protocol.strictjson import dumps
from .notification import Notification
from .parts import SinkParts
from .websocket import WebSocketSink

PORT: Final = 11450


@define(eq=False)
class OVRToolkit(WebSocketSink):
    """Sends to OVR Toolkit."""

    name: ClassVar[str] = "ovrtoolkit"
    description: ClassVar[str] = "OVR Toolkit, by its WebSocket"
    honours: ClassVar[tuple[str, ...]] = (
        "title",
        "content",
        "icon",
        "useBase64Icon",
    )

    def path(self) -> str:
        """See ``WebSocketSink``."""
        return "/api"

    def write(self, notification: Notification) -> bytes:
        """See ``WebSocketSink``."""
        shown = {"title": notification.title, "body": notification.content}
        if notification.image:
            shown["icon"] = notification.image
        text = dumps(shown).decode("utf-8")
        return dumps({"messageType": "SendNotification", "json": text})


def make(parts: SinkParts) -> OVRToolkit:
    """Make the sink."""
    return OVRToolkit(parts.reactor, parts.application, PORT)
