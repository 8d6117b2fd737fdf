"""From a validated request for the socket's path to a WebSocket."""

from __future__ import annotations

from typing import Any

from autobahn.twisted.resource import WebSocketResource

from ..protocol.errors import BridgeError, Code
from .request import GuardedRequest, is_upgrade
from .socket import BridgeFactory

_UPGRADE_REQUESTS = 8
"""An upgrade counts as this many other requests."""


class _Upgrade(WebSocketResource):
    """Hands a connection over to Autobahn."""

    def render(self, request: GuardedRequest) -> object:
        """Hand it over, with what the client has sent after its handshake."""
        # It was validated already; Autobahn would apply rules of its own.
        request.requestHeaders.removeHeader(b"origin")
        channel: Any = request.channel
        channel.shares.turns.spend(_UPGRADE_REQUESTS - 1)
        transport, early = channel.transport, channel.clearLineBuffer()
        rendered: object = super().render(request)
        # A client should wait for our handshake (RFC 6455, section 4.1); if it
        # does not, nothing is lost.
        transport.protocol.dataReceived(early)
        return rendered


def upgrade(request: GuardedRequest, sockets: BridgeFactory) -> None:
    """
    Hand the connection of a request to a new socket.

    :raise BridgeError: It is no upgrade, or there are too many sockets.
    """
    if not is_upgrade(request.method, request.requestHeaders):
        raise BridgeError(Code.BAD_REQUEST, "this path speaks WebSocket only")
    if request.clientproto != b"HTTP/1.1":
        raise BridgeError(Code.BAD_REQUEST, "an upgrade requires HTTP/1.1")
    if sockets.is_full:
        raise BridgeError(Code.UNAVAILABLE, "too many sockets are open")
    _Upgrade(sockets).render(request)
