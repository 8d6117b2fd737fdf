"""
HTTP: who is let in, and which path answers what.

``GuardedSite.judge`` is the whole policy, in its order.  A call goes to the same
dispatcher as a frame does.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable
from typing import Any
from urllib.parse import unquote

from attrs import define, field, frozen
from autobahn.twisted.resource import WebSocketResource
from klein import Klein
from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.web.http import HTTPFactory
from werkzeug.exceptions import HTTPException, MethodNotAllowed
from werkzeug.routing import MapAdapter

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

_NAME = re.compile(rf"[a-z0-9_-]{{1,{limits.NAME_CHARACTERS}}}")


@frozen
class Route:
    """
    What answers at a path.

    :ivar answer: Gives the response once the body is there.
    :ivar paired: Whether it takes the pairing token.
    :ivar has_body: Whether a JSON body is read.
    """

    answer: Answer
    paired: bool
    has_body: bool


@define
class Routes:
    """
    What answers at which path.

    Klein keeps the table and runs what is in it, but is not asked to render: a request
    is judged by its route before its body comes (docs/decisions/0016).

    :ivar dev: Whether calls by HTTP and ``describe`` are there.
    """

    edge: Edge
    sockets: BridgeFactory
    dev: bool
    _app: Klein = field(factory=Klein, init=False)
    _paths: MapAdapter = field(init=False)

    def __attrs_post_init__(self) -> None:
        # A path is matched as it was sent, or two readers might disagree on it.
        self._app.url_map.merge_slashes = False
        self._app.route("/v1/health", methods=["GET"])(self.health)
        self._app.route("/v1/ws", methods=["GET"])(self.socket)
        if self.dev:
            self._app.route("/v1/describe", methods=["GET"])(self.describe)
            self._app.route("/v1/<service>/<method>", methods=["POST"])(self.call)
        self._paths = self._app.url_map.bind("localhost")

    @property
    def registry(self) -> Registry:
        """The services."""
        return self.edge.dispatcher.registry

    def find(self, method: bytes, path: bytes) -> Route:
        """
        Find what answers.

        :raise BridgeError: 404, or 405.
        """
        endpoint, names = self._match(method, path)
        # Decoded one by one: an encoded slash is part of a name, so of none.
        names = {key: unquote(name) for key, name in names.items()}
        if not all(map(_NAME.fullmatch, names.values())):
            raise self._nothing_here()

        def answer(request: GuardedRequest) -> Awaitable[bytes | None]:
            run: Any = self._app.execute_endpoint
            doing: Awaitable[bytes | None] = run(endpoint, request, **names)
            return doing

        return Route(answer, endpoint in ("call", "describe"), endpoint == "call")

    def _match(self, method: bytes, path: bytes) -> tuple[str, dict[str, str]]:
        # werkzeug would take a path with any number of slashes before it.
        if not path.startswith(b"/") or path.startswith(b"//"):
            raise self._nothing_here()
        # Methods are case-sensitive (RFC 9110, section 9.1), to werkzeug they are not.
        known = method.decode("latin-1") if method.isupper() else "?"
        try:
            endpoint, names = self._paths.match(path.decode("latin-1"), known)
        except MethodNotAllowed as e:
            raise MethodError(
                Code.METHOD_NOT_ALLOWED,
                "this path takes another method",
                allow=", ".join(sorted(e.valid_methods or ())).encode("ascii"),
            ) from None
        except HTTPException:
            raise self._nothing_here() from None
        return str(endpoint), dict(names)

    def _nothing_here(self) -> BridgeError:
        """Say that a path has nothing, and what might put something there."""
        if self.dev:
            return BridgeError(Code.NOT_FOUND, "there is nothing at this path")
        return BridgeError(
            Code.NOT_FOUND,
            "only /v1/health and /v1/ws are here; calls by HTTP need --dev",
        )

    async def call(self, request: GuardedRequest, service: str, method: str) -> bytes:
        """Call a method of a service."""
        params = read_params(request.content.read())
        return dumps(await self.edge.dispatcher.call(service, method, params))

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
        channel: Any = request.channel
        transport, early = channel.transport, channel.clearLineBuffer()
        WebSocketResource(self.sockets).render(request)
        # A client should wait for our handshake (RFC 6455, section 4.1); of one that
        # does not, nothing is lost.
        transport.protocol.dataReceived(early)


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

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """Take a connection."""
        channel: Any = super().buildProtocol(addr)
        channel.crowd = self.crowd
        return channel

    def log(self, request: Any) -> None:
        """Write no access log: it would hold what callers sent."""

    def _updateLogDateTime(self) -> None:
        """Keep no time for that log: Twisted would wake up for it every second."""


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
