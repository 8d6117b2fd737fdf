"""
The HTTP server: which requests are accepted, and which endpoint answers a path.

``GuardedSite.validate`` is the whole policy, in its order.  Calls go to the same
dispatcher as frames do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar
from urllib.parse import unquote

from attrs import define, field, frozen
from autobahn.twisted.resource import WebSocketResource
from klein import Klein
from klein.resource import KleinResource
from orjson import Fragment
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.http import HTTPFactory
from werkzeug.exceptions import HTTPException, MethodNotAllowed
from werkzeug.routing import BaseConverter, MapAdapter, ValidationError

from ..protocol import limits
from ..protocol.errors import BridgeError, Code, internal_error
from ..protocol.version import PROTOCOL
from ..protocol.wire import dumps, loads, unstructure
from ..rpc.registry import Registry
from ..schemas import PROTOCOL_FILE, read_schema
from .channel import GuardedChannel
from .conversation import SharedContext
from .guard import Guard, Headers
from .headers import MethodError
from .request import GuardedRequest, Head, Responder, too_large
from .shares import make_shares
from .socket import BridgeFactory

Endpoint = Callable[..., Coroutine[Deferred[Any], Any, bytes]]

_SOCKET = b"/v1/ws"
_UPGRADE_REQUESTS = 8
"""An upgrade counts as this many other requests."""
_NAME = re.compile(rf"[a-z0-9_-]{{1,{limits.NAME_CHARACTERS}}}")


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


@frozen
class Route:
    """
    What the guard requires of a request for a path.

    :ivar paired: Whether the pairing token is required.
    :ivar has_body: Whether a JSON body is read.
    """

    paired: bool
    has_body: bool


class _NameConverter(BaseConverter):
    """
    The name of a service or a method: one segment of a path, percent-decoded.

    Each segment is decoded alone: an encoded slash would be part of a name, and no name
    has one.
    """

    def to_python(self, value: str) -> str:
        name = unquote(value)
        if _NAME.fullmatch(name) is None:
            raise ValidationError
        return name


@define
class Routes:
    """
    The endpoints by path: a Klein resource, behind the guard.

    A request is matched twice: at its head, so that its body need not come when it is
    refused (docs/decisions/0016), and when Klein renders it.  A request that was
    refused by its head calls no endpoint.

    :ivar dev: Whether calls by HTTP and ``describe`` are there.
    """

    context: SharedContext
    sockets: BridgeFactory
    dev: bool
    _app: Klein = field(factory=Klein, init=False)
    _paths: MapAdapter = field(init=False)
    _resource: KleinResource = field(init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        # A path is matched as it was sent, or two readers might disagree on it.
        self._app.url_map.merge_slashes = False
        self._app.url_map.converters["name"] = _NameConverter
        self._route("/v1/health", "GET", self.health)
        self._app.route("/v1/ws", methods=["GET"], endpoint="socket")(self.socket)
        if self.dev:
            self._route("/v1/describe", "GET", self.describe)
            self._route("/v1/<name:service>/<name:method>", "POST", self.call)
        on: Any = self._app.handle_errors
        on(BridgeError)(self._refuse)
        on(HTTPException)(self._refuse_path)
        on(Exception)(self._fail)
        self._paths = self._app.url_map.bind("localhost")
        self._resource = self._app.resource()

    @property
    def registry(self) -> Registry:
        """The services."""
        return self.context.dispatcher.registry

    def find(self, method: bytes, path: bytes) -> Route:
        """
        Find the route of a request.

        :raise BridgeError: 404, or 405.
        """
        # werkzeug would take a path with any number of slashes before it.
        if not path.startswith(b"/") or path.startswith(b"//"):
            raise self._nothing_here()
        # Methods are case-sensitive (RFC 9110, section 9.1), to werkzeug they are not.
        known = method.decode("latin-1") if method.isupper() else "?"
        try:
            endpoint, _ = self._paths.match(path.decode("latin-1"), known)
        except HTTPException as e:
            raise self._no_route(e) from None
        return Route(endpoint in ("call", "describe"), endpoint == "call")

    def render(self, request: GuardedRequest) -> None:
        """Answer a request, whose body is here as far as it is wanted."""
        request.render(self._resource)

    def _route(self, path: str, method: str, answer: Endpoint) -> None:
        """Add a route whose endpoint returns the JSON of its answer."""

        def run(request: GuardedRequest, **names: str) -> Deferred[bytes]:
            if request.refusal is not None:
                raise request.refusal
            answering = shielded(answer(request, **names))
            return answering.addCallback(lambda body: request.begin(200, body))

        self._app.route(path, methods=[method], endpoint=answer.__name__)(run)

    def _refuse(self, request: GuardedRequest, failure: Failure) -> bytes:
        """Answer with a refusal."""
        error: Any = failure.value
        return request.refuse(error)

    def _refuse_path(self, request: GuardedRequest, failure: Failure) -> bytes:
        """Answer a request without a route; a refusal of the guard comes first."""
        error: Any = failure.value
        return request.refuse(request.refusal or self._no_route(error))

    def _fail(self, request: GuardedRequest, failure: Failure) -> bytes:
        """Answer a request whose endpoint failed."""
        self._log.failure("a request failed", failure=failure)
        return request.refuse(internal_error())

    def _no_route(self, error: HTTPException) -> BridgeError:
        """Return the refusal for a routing error of werkzeug's."""
        if isinstance(error, MethodNotAllowed):
            return MethodError(
                Code.METHOD_NOT_ALLOWED,
                "this path does not accept the method",
                allow=", ".join(sorted(error.valid_methods or ())).encode("ascii"),
            )
        return self._nothing_here()

    def _nothing_here(self) -> BridgeError:
        """Return the refusal of an unknown path; without --dev it names the option."""
        if self.dev:
            return BridgeError(Code.NOT_FOUND, "there is nothing at this path")
        return BridgeError(
            Code.NOT_FOUND,
            "only /v1/health and /v1/ws are here; calls by HTTP need --dev",
        )

    async def call(self, request: GuardedRequest, service: str, method: str) -> bytes:
        """Call a method of a service."""
        params = read_params(request.content.read())
        return dumps(await self.context.dispatcher.call(service, method, params))

    async def health(self, _: GuardedRequest) -> bytes:
        """Answer the liveness probe."""
        return dumps(unstructure(Health(self.context.version, self.registry.names())))

    async def describe(self, _: GuardedRequest) -> bytes:
        """Describe every service, and the protocol."""
        return dumps(
            {
                "version": self.context.version,
                "protocol": PROTOCOL,
                "socket": "/v1/ws",
                "services": self.registry.describe(),
                "description": Fragment(read_schema(PROTOCOL_FILE)),
            }
        )

    def socket(self, request: GuardedRequest) -> Upgrade:
        """
        Return the resource that hands the connection to a session.

        :raise BridgeError: It is no upgrade, or there are too many sockets.
        """
        if request.refusal is not None:
            raise request.refusal
        if not _is_upgrade(request.method, request.requestHeaders):
            raise BridgeError(Code.BAD_REQUEST, "this path speaks WebSocket only")
        if request.clientproto != b"HTTP/1.1":
            raise BridgeError(Code.BAD_REQUEST, "an upgrade requires HTTP/1.1")
        if self.sockets.is_full:
            raise BridgeError(Code.UNAVAILABLE, "too many sockets are open")
        return Upgrade(self.sockets)


class Upgrade(WebSocketResource):
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


def shielded(answering: Coroutine[Deferred[Any], Any, bytes]) -> Deferred[bytes]:
    """
    Run a coroutine that continues when the Deferred of its result is cancelled.

    Klein cancels when the client goes; a call must not end half-way.
    """
    seen: Deferred[bytes] = Deferred()
    Deferred.fromCoroutine(answering).addBoth(seen.callback)
    return seen


def answer_preflight(request: GuardedRequest) -> None:
    """Answer a preflight request; the headers that allow the origin are set already."""
    asked = request.requestHeaders.hasHeader(b"access-control-request-private-network")
    if asked and request.responseHeaders.hasHeader(b"access-control-allow-origin"):
        request.setHeader(b"access-control-allow-private-network", b"true")
    request.finish_empty()


def _is_upgrade(method: bytes, headers: Headers) -> bool:
    upgrade = headers.getRawHeaders(b"upgrade") or [b""]
    return method == b"GET" and upgrade[0].lower() == b"websocket"


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
        self.shares = make_shares(reactor)

    def validate(self, head: Head) -> Responder:
        """
        Validate a request by its head alone, and return what answers it.

        This order is the policy; nothing reaches a service or a socket around it.

        :raise BridgeError: It is refused.
        """
        guard = self._guard
        guard.draw(head.headers, self._is_handshake(head))  # 429
        guard.check_host(head.headers, head.authority)  # 400, 403
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
        return self._routes.render

    def _is_handshake(self, head: Head) -> bool:
        # After any other request, the connection stays open for the next one.
        return (
            head.path == _SOCKET
            and _is_upgrade(head.method, head.headers)
            and self._guard.allows_host(head.headers, head.authority)
        )

    def render(self, request: GuardedRequest) -> None:
        """See ``bridge.web.request.RequestPolicy``."""
        self._routes.render(request)

    def allowed_origin(self, headers: Headers) -> bytes | None:
        """See ``bridge.web.request.RequestPolicy``."""
        return self._guard.allowed_origin(headers)

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """Build the channel of a connection."""
        channel: Any = super().buildProtocol(addr)
        channel.shares = self.shares
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


def make_site(
    context: SharedContext, sockets: BridgeFactory, dev: bool, reactor: IReactorTime
) -> GuardedSite:
    """Build the HTTP server."""
    return GuardedSite(context.guard, Routes(context, sockets, dev), reactor)
