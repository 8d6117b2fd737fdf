"""
HTTP: who is let in, and which path answers what.

``GuardedSite.judge`` is the whole policy, in its order.  A call goes to the same
dispatcher as a frame does.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote_to_bytes

from attrs import define, frozen
from autobahn.twisted.resource import WebSocketResource
from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.web.http import HTTPFactory

from ..protocol import limits
from ..protocol.errors import BridgeError, Code
from ..protocol.wire import dumps, loads
from ..rpc.registry import Registry
from .channel import Crowd, GuardedChannel
from .conversation import Edge
from .guard import Guard, Headers
from .headers import MethodError
from .request import Answer, GuardedRequest, Head, too_large
from .socket import BridgeFactory

_CALL = re.compile(rb"/v1/([^/]+)/([^/]+)")
_NAME = re.compile(rf"[a-z0-9_-]{{1,{limits.NAME_CHARACTERS}}}".encode("ascii"))


@frozen
class Route:
    """
    What answers at a path.

    :ivar allow: The methods it takes.
    :ivar paired: Whether it takes the pairing token.
    :ivar has_body: Whether a JSON body is read.
    """

    answer: Answer
    allow: tuple[bytes, ...] = (b"GET", b"HEAD")
    paired: bool = True
    has_body: bool = False


@define
class Routes:
    """
    What answers at which path.

    :ivar dev: Whether calls by HTTP and ``describe`` are there.
    """

    edge: Edge
    sockets: BridgeFactory
    dev: bool

    @property
    def registry(self) -> Registry:
        """The services."""
        return self.edge.dispatcher.registry

    def find(self, method: bytes, path: bytes) -> Route:
        """
        Find what answers.

        :raise BridgeError: 404, or 405.
        """
        route = self._at(path)
        if route is None:
            raise self._nothing_here()
        if method not in route.allow:
            raise MethodError(
                Code.METHOD_NOT_ALLOWED,
                "this path takes another method",
                allow=b", ".join(route.allow),
            )
        return route

    def _at(self, path: bytes) -> Route | None:
        if path == b"/v1/health":
            return Route(self.health, paired=False)
        if path == b"/v1/ws":
            return Route(self.socket, paired=False)
        if not self.dev:
            return None
        if path == b"/v1/describe":
            return Route(self.describe)
        return self._call_at(path)

    def _call_at(self, path: bytes) -> Route | None:
        found = _CALL.fullmatch(path)
        if found is None:
            return None
        # Decoded one by one: an encoded slash is part of a name, so of none.
        service, method = map(unquote_to_bytes, found.groups())
        if not (_NAME.fullmatch(service) and _NAME.fullmatch(method)):
            return None

        async def call(request: GuardedRequest) -> bytes:
            params = read_params(request.content.read())
            names = service.decode("ascii"), method.decode("ascii")
            return dumps(await self.edge.dispatcher.call(*names, params))

        return Route(call, allow=(b"POST",), has_body=True)

    def _nothing_here(self) -> BridgeError:
        """Say that a path has nothing, and what might put something there."""
        if self.dev:
            return BridgeError(Code.NOT_FOUND, "there is nothing at this path")
        return BridgeError(
            Code.NOT_FOUND,
            "only /v1/health and /v1/ws are here; calls by HTTP need --dev",
        )

    async def health(self, _: GuardedRequest) -> bytes:
        """Answer the liveness probe."""
        names = self.registry.names()
        return dumps({"ok": True, "version": self.edge.version, "services": names})

    async def describe(self, _: GuardedRequest) -> bytes:
        """Describe every service."""
        services = self.registry.describe()
        return dumps(
            {"version": self.edge.version, "socket": "/v1/ws", "services": services}
        )

    async def socket(self, request: GuardedRequest) -> None:
        """
        Hand the connection to a session.

        :raise BridgeError: It is no upgrade, or there are too many sockets.
        """
        upgrade = request.requestHeaders.getRawHeaders(b"upgrade") or [b""]
        if request.method != b"GET" or upgrade[0].lower() != b"websocket":
            raise BridgeError(Code.BAD_REQUEST, "this path speaks WebSocket only")
        if self.sockets.crowded:
            raise BridgeError(Code.UNAVAILABLE, "too many sockets are open")
        # It has been judged; Autobahn would judge it again, by rules of its own.
        request.requestHeaders.removeHeader(b"origin")
        WebSocketResource(self.sockets).render(request)


async def answer_preflight(request: GuardedRequest) -> None:
    """Tell a page what it may send; the headers that allow it are there already."""
    asked = request.requestHeaders.hasHeader(b"access-control-request-private-network")
    if asked and request.responseHeaders.hasHeader(b"access-control-allow-origin"):
        request.setHeader(b"access-control-allow-private-network", b"true")
    request.finish_empty()


def read_params(text: bytes) -> Any:
    """
    Read the body of a call; a blank one is no params.

    :raise BridgeError: It is not UTF-8, or not JSON.
    """
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        raise BridgeError(Code.MALFORMED_BODY, "the body is not UTF-8") from None
    return loads(text) if text.strip() else {}


class GuardedSite(HTTPFactory):
    """The HTTP server."""

    protocol: Any = GuardedChannel
    noisy = False

    def __init__(self, guard: Guard, routes: Routes, reactor: IReactorTime) -> None:
        # The channel keeps deadlines of its own.
        super().__init__(reactor=reactor, timeout=None)  # type: ignore[arg-type]
        self._guard = guard
        self._routes = routes
        self.crowd = Crowd(limits.CONNECTIONS_WAITING)

    def judge(self, head: Head) -> Answer:
        """
        Decide who answers a request, by its head alone.

        This order is the policy; nothing reaches a service or a socket around it.

        :raise BridgeError: It is refused.
        """
        guard = self._guard
        guard.draw(head.headers)  # 429
        guard.check_host(head.headers)  # 400, 403
        guard.check_origin(head.headers)  # 403
        if head.method == b"OPTIONS":
            _check_length(head.length, 0)  # 413
            return answer_preflight
        route = self._routes.find(head.method, head.path)  # 404, 405
        if route.paired:
            guard.authenticate(head.headers)  # 401, 400
        if route.has_body:
            guard.check_content_type(head.headers)  # 415
        cap = limits.REST_BODY_BYTES if route.has_body else 0
        _check_length(head.length, cap)  # 413
        return route.answer

    def allowed_origin(self, headers: Headers) -> bytes | None:
        """See ``bridge.web.request.Judge``."""
        return self._guard.allowed_origin(headers)

    def buildProtocol(self, addr: IAddress | None) -> Any:  # noqa: N802
        """Take a connection."""
        channel: Any = super().buildProtocol(addr)
        channel.crowd = self.crowd
        return channel

    def log(self, request: Any) -> None:
        """Write no access log: it would hold what callers sent."""


def _check_length(length: int | None, cap: int) -> None:
    if cap == 0 and length != 0:
        raise BridgeError(Code.PAYLOAD_TOO_LARGE, "this path takes no body")
    if length is not None and length > cap:
        raise too_large()


def make_site(
    edge: Edge, sockets: BridgeFactory, dev: bool, reactor: IReactorTime
) -> GuardedSite:
    """Build the HTTP server."""
    return GuardedSite(edge.guard, Routes(edge, sockets, dev), reactor)
