"""From a validated request for the socket's path to a WebSocket."""

from __future__ import annotations

from typing import Any, Final

from ..protocol.errors import BridgeError, Code
from .request import GuardedRequest, is_upgrade
from .websocket.socket import BridgeFactory

_UPGRADE_REQUESTS: Final = 32
"""An upgrade counts as this many other requests."""

# It was validated already; Autobahn would apply rules of its own.
_NOT_FOR_AUTOBAHN: Final = b"origin"


def upgrade(request: GuardedRequest, sockets: BridgeFactory) -> None:
    """
    Hand the connection of a request to a new socket.

    Autobahn's resource would do that, too, but loads templates, sessions and an XML
    parser of ``twisted.web``: 1.5 MiB.

    :raise BridgeError: It is no upgrade, or there are too many sockets.
    """
    if not is_upgrade(request.method, request.requestHeaders):
        raise BridgeError(Code.BAD_REQUEST, "this path speaks WebSocket only")
    if request.clientproto != b"HTTP/1.1":
        raise BridgeError(Code.BAD_REQUEST, "an upgrade requires HTTP/1.1")
    if sockets.is_full:
        raise BridgeError(Code.UNAVAILABLE, "too many sockets are open")
    channel: Any = request.channel
    channel.shared.quota.consume(_UPGRADE_REQUESTS - 1)
    # A client should wait for our handshake (RFC 6455, section 4.1); if it does not,
    # nothing is lost.
    handshake, early = _head(request), channel.clearLineBuffer()
    transport, channel.transport = channel.transport, None
    socket: Any = sockets.buildProtocol(transport.getPeer())
    transport.protocol = socket
    socket.makeConnection(transport)
    # The channel has paused it until the request is answered.
    transport.resumeProducing()
    socket.dataReceived(handshake)
    socket.dataReceived(early)


def _head(request: GuardedRequest) -> bytes:
    """Format the head as the client may have sent it, for Autobahn's reader."""
    lines = [b"GET %s HTTP/1.1" % request.uri]
    for name, values in request.requestHeaders.getAllRawHeaders():
        if name.lower() != _NOT_FOR_AUTOBAHN:
            lines.append(b"%s: %s" % (name, b",".join(values)))
    return b"\r\n".join((*lines, b"", b""))
