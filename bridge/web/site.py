"""
The HTTP server: which requests are accepted, and what answers a path.

``GuardedSite.validate`` is the whole policy, in its order.
"""

from __future__ import annotations

from typing import Any

from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.web.http import HTTPFactory
from twisted.web.http_headers import Headers

from ..classes import frozen
from ..protocol import limits
from ..protocol.errors import BridgeError, Code
from ..protocol.frames import PROTOCOL
from ..protocol.strictjson import dumps
from ..protocol.wire import unstructure
from .channel import GuardedChannel
from .connectionlimits import ConnectionLimits, RequestQuota
from .guard import Guard
from .request import GuardedRequest, too_large
from .routes import SOCKET, Responder, Routes


@frozen
class Health:
    """
    The answer to the liveness probe.

    :ivar version: The daemon's version.
    :ivar services: The names of the services.
    :ivar ok: Always true.
    :ivar protocol: The version of the protocol, ``MAJOR.MINOR``.
    """

    version: str
    services: list[str]
    ok: bool = True
    protocol: str = PROTOCOL

    def body(self) -> bytes:
        """Return it as JSON."""
        return dumps(unstructure(self))


def answer_preflight(request: GuardedRequest) -> None:
    """Answer a preflight request; the headers that allow the origin are set already."""
    asked = request.requestHeaders.hasHeader(b"access-control-request-private-network")
    if asked and request.responseHeaders.hasHeader(b"access-control-allow-origin"):
        request.setHeader(b"access-control-allow-private-network", b"true")
    request.finish_empty()


class GuardedSite(HTTPFactory):
    """
    The HTTP server.

    :param routes: What answers.
    """

    protocol: Any = GuardedChannel
    noisy = False

    def __init__(self, guard: Guard, routes: Routes, reactor: IReactorTime) -> None:
        # The channel keeps deadlines of its own.
        super().__init__(reactor=reactor, timeout=None)  # type: ignore[arg-type]
        self._guard = guard
        self._routes = routes
        self.shared = ConnectionLimits(RequestQuota(reactor))

    def validate(self, request: GuardedRequest) -> Responder:
        """
        Validate a request by its head alone, and return what answers it.

        This order is the policy; nothing reaches a service or a socket around it.

        :raise BridgeError: It is refused.
        """
        guard, headers = self._guard, request.requestHeaders
        # Of other requests any number can be sent; a socket is one of so many.
        upgrade = request.path == SOCKET and request.is_upgrade
        guard.draw(headers, request.authority, upgrade)  # 429
        guard.check_host(headers, request.authority)  # 400, 403
        guard.check_origin(headers)  # 403
        if request.method == b"OPTIONS":
            _check_length(request.length, 0)  # 413
            return answer_preflight
        route = self._routes.find(request.method, request.path)  # 404, 405
        if route.paired:
            guard.authenticate(headers)  # 401, 400
        if route.has_body:
            guard.check_content_type(headers)  # 415
        cap = limits.REST_BODY_BYTES if route.has_body else 0
        _check_length(request.length, cap)  # 413
        return route.answer

    def allowed_origin(self, headers: Headers) -> bytes | None:
        """Return the request's origin if it may read the answer."""
        return self._guard.allowed_origin(headers)

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """Build the channel of a connection."""
        channel: Any = super().buildProtocol(addr)
        channel.shared = self.shared
        return channel

    def log(self, request: Any) -> None:
        """Write no access log: it would hold what callers sent."""

    def _updateLogDateTime(self) -> None:
        """Keep no time for an access log: Twisted would wake up for it every second."""


def _check_length(length: int | None, cap: int) -> None:
    if cap == 0 and length != 0:
        raise BridgeError(Code.PAYLOAD_TOO_LARGE, "this path accepts no body")
    if length is not None and length > cap:
        raise too_large()
