"""
The HTTP server: which requests are accepted, and what answers a path.

``GuardedSite.validate`` is the whole policy, in its order.  Klein renders two of the
paths.  Any program may ask for any path, so what needs no token needs no Klein: it is
loaded by the first request with the token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from functools import cached_property, partial
from typing import Any, ClassVar, Final
from urllib.parse import unquote

from attrs import field
from orjson import Fragment
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.http import HTTPFactory

from ..classes import define, frozen
from ..protocol import limits
from ..protocol.errors import (
    BridgeError,
    Code,
    bad_request,
    internal_error,
    unavailable,
)
from ..protocol.frames import PROTOCOL
from ..protocol.strictjson import dumps, loads
from ..protocol.wire import unstructure
from ..rpc import Registry
from ..schemas import PROTOCOL_FILE, read_schema
from ..system.processes import trim
from .channel import GuardedChannel, Parts, RequestQuota
from .guard import Guard
from .request import GuardedRequest, too_large
from .websocket.sockets import BridgeFactory

Endpoint = Callable[..., Coroutine[Deferred[Any], Any, bytes]]
Responder = Callable[[GuardedRequest], None]
"""Answers a request whose body is complete; a ``BridgeError`` becomes a refusal."""

HEALTH: Final = b"/v1/health"
SOCKET: Final = b"/v1/ws"
_DESCRIBE: Final = b"/v1/describe"
_UPGRADE_REQUESTS: Final = 32
"""An upgrade counts as this many other requests."""

# Origin was validated already; Autobahn would apply rules of its own.  Extensions are
# all declined, and an offer is declined even if it is wrong (RFC 7692, section 5).
_NOT_FOR_AUTOBAHN: Final = frozenset({b"origin", b"sec-websocket-extensions"})
_NAME = re.compile(rf"[a-z0-9_-]{{1,{limits.NAME_CHARACTERS}}}")
_CALL = re.compile(rb"/v1/([^/]+)/([^/]+)")


@frozen
class Route:
    """
    What a path accepts, and what answers it.

    :ivar methods: The methods, as in the ``Allow`` header.
    :ivar paired: Whether the pairing token is required.
    :ivar has_body: Whether a JSON body is read.
    """

    methods: tuple[bytes, ...]
    answer: Responder
    paired: bool = True
    has_body: bool = False


def _is_name(segment: bytes) -> bool:
    """
    Whether a segment of a path, percent-decoded, is the name of a service or a method.

    Each is decoded alone: an encoded slash would be a part of it, and no name has one.
    """
    return _NAME.fullmatch(unquote(segment.decode("latin-1"))) is not None


def _is_call(path: bytes) -> bool:
    found = _CALL.fullmatch(path)
    return found is not None and all(map(_is_name, found.groups()))


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


@define
class Routes:
    """
    The endpoints by path, behind the guard.

    :ivar dev: Whether calls by HTTP and ``describe`` are there.
    :ivar sockets: Builds the sockets that connections are upgraded to.
    """

    version: str
    registry: Registry
    dev: bool
    sockets: BridgeFactory
    _schema: bytes = field(init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        # At the start: the file may be replaced by another release's.
        self._schema = read_schema(PROTOCOL_FILE) if self.dev else b""

    @cached_property
    def _fixed(self) -> dict[bytes, Route]:
        read = (b"GET", b"HEAD")
        routes = {
            HEALTH: Route(read, self._answer_health, paired=False),
            SOCKET: Route(read, partial(upgrade, self.sockets), paired=False),
        }
        if self.dev:
            routes[_DESCRIBE] = Route(read, self._render)
        return routes

    def find(self, request: GuardedRequest) -> Route:
        """
        Find the route of a request.

        :raise BridgeError: 404, or 405.
        """
        route = self._fixed.get(request.path)
        if route is None:
            if not (self.dev and _is_call(request.path)):
                raise self._nothing_here()
            route = Route((b"POST",), self._render, has_body=True)
        if request.method not in route.methods:
            request.setHeader(b"allow", b", ".join(route.methods))
            why = "this path does not accept the method"
            raise BridgeError(Code.METHOD_NOT_ALLOWED, why)
        return route

    def _answer_health(self, request: GuardedRequest) -> None:
        health = unstructure(Health(self.version, self.registry.names()))
        request.finish_with(request.begin(200, dumps(health)))

    def _render(self, request: GuardedRequest) -> None:
        """Have Klein answer a request, whose body is here as far as it is wanted."""
        self._resource.render(request)

    @cached_property
    def _resource(self) -> Any:
        """What renders the paths that need the token; Klein is loaded here."""
        from klein import Klein
        from klein.interfaces import IKleinRequest
        from zope.interface import classImplements

        trim()
        # Klein keeps its mapper there, and uses nothing else of the interface.
        classImplements(GuardedRequest, IKleinRequest)  # type: ignore[misc]
        app = Klein()
        # A path is matched as it was sent, or two readers might disagree on it.
        app.url_map.merge_slashes = False
        self._route(app, "/v1/describe", "GET", self.describe)
        self._route(app, "/v1/<service>/<method>", "POST", self.call)
        refused: Any = app.handle_errors(Exception)
        refused(self._refuse)
        return app.resource()

    def _route(self, app: Any, path: str, method: str, answer: Endpoint) -> None:
        """Add a route whose endpoint returns the JSON of its answer."""

        def run(request: GuardedRequest, **names: str) -> Deferred[bytes]:
            answering = shielded(answer(request, **names))
            return answering.addCallback(lambda body: request.begin(200, body))

        app.route(path, methods=[method], endpoint=answer.__name__)(run)

    def _refuse(self, request: GuardedRequest, failure: Failure) -> bytes:
        """Answer a request whose endpoint refused it, or failed."""
        error = failure.value
        if not isinstance(error, BridgeError):
            self._log.failure("a request failed", failure=failure)
            error = internal_error()
        return request.refuse(error)

    def _nothing_here(self) -> BridgeError:
        """Return the refusal of an unknown path; without --dev it names the option."""
        why = "only /v1/health and /v1/ws are here; calls by HTTP need --dev"
        if self.dev:
            why = "there is nothing at this path"
        return BridgeError(Code.NOT_FOUND, why)

    async def call(self, request: GuardedRequest, service: str, method: str) -> bytes:
        """Call a method of a service."""
        params = read_params(request.content.read())
        names = unquote(service), unquote(method)
        return dumps(await self.registry.call(*names, params))

    async def describe(self, _: GuardedRequest) -> bytes:
        """Describe every service, and the protocol."""
        return dumps(
            {
                "version": self.version,
                "protocol": PROTOCOL,
                "socket": "/v1/ws",
                "services": self.registry.describe(),
                "description": Fragment(self._schema),
            }
        )


def shielded(answering: Coroutine[Deferred[Any], Any, bytes]) -> Deferred[bytes]:
    """
    Run a coroutine that continues when the Deferred of its result is cancelled.

    Klein cancels when the client goes; a call must not end half-way.
    """
    seen: Deferred[bytes] = Deferred()
    Deferred.fromCoroutine(answering).addBoth(seen.callback)
    return seen


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


def upgrade(sockets: BridgeFactory, request: GuardedRequest) -> None:
    """
    Hand the connection of a request to a new socket.

    Autobahn's resource would do that, too, but loads templates, sessions and an XML
    parser of ``twisted.web``: 1.5 MiB.

    :raise BridgeError: It is no upgrade, or there are too many sockets.
    """
    if not request.is_upgrade:
        raise bad_request("this path speaks WebSocket only")
    if request.clientproto != b"HTTP/1.1":
        raise bad_request("an upgrade requires HTTP/1.1")
    if sockets.is_full:
        raise unavailable("too many sockets are open")
    channel: Any = request.channel
    channel.factory.quota.consume(_UPGRADE_REQUESTS - 1)
    # A client should wait for our handshake (RFC 6455, section 4.1); if it does not,
    # nothing is lost.
    handshake, early = _head(request), channel.clearLineBuffer()
    transport, channel.transport = channel.transport, None
    socket: Any = sockets.buildProtocol(transport.getPeer())
    socket.is_page = request.requestHeaders.hasHeader(b"origin")
    transport.protocol = socket
    socket.makeConnection(transport)
    socket.dataReceived(handshake)
    socket.dataReceived(early)


def _head(request: GuardedRequest) -> bytes:
    """Format the head as the client may have sent it, for Autobahn's reader."""
    lines = [b"GET %s HTTP/1.1" % request.uri]
    for name, values in request.requestHeaders.getAllRawHeaders():
        if name.lower() not in _NOT_FOR_AUTOBAHN:
            lines.append(b"%s: %s" % (name, b",".join(values)))
    return b"\r\n".join((*lines, b"", b""))


def answer_preflight(request: GuardedRequest) -> None:
    """Answer a preflight request; the headers that allow the origin are set already."""
    asked = request.requestHeaders.hasHeader(b"access-control-request-private-network")
    if asked and request.responseHeaders.hasHeader(b"access-control-allow-origin"):
        request.setHeader(b"access-control-allow-private-network", b"true")
    request.responseHeaders.removeHeader(b"content-type")
    request.finish_with(request.begin(204, b""))


class GuardedSite(HTTPFactory):
    """
    The HTTP server.

    :ivar guard: What accepts requests.
    :ivar quota: See ``RequestQuota``.
    :ivar pending: The connections that have not shown the token yet.
    :ivar answers: What callers with the token were answered, and have not read; in
        bytes.
    :param routes: What answers.
    """

    protocol: Any = GuardedChannel
    noisy = False

    def __init__(self, guard: Guard, routes: Routes, reactor: IReactorTime) -> None:
        # The channel keeps deadlines of its own.
        super().__init__(reactor=reactor, timeout=None)  # type: ignore[arg-type]
        self.guard = guard
        self._routes = routes
        self.quota = RequestQuota(reactor)
        self.pending = Parts(limits.CONNECTIONS_WAITING)
        self.answers = Parts(limits.UNSENT_BYTES)

    def leave(self, connection: GuardedChannel) -> None:
        """Forget a connection."""
        for shared in (self.quota, self.pending, self.answers):
            shared.leave(connection)

    def validate(self, request: GuardedRequest) -> Responder:
        """
        Validate a request by its head alone, and return what answers it.

        This order is the policy; nothing reaches a service or a socket around it.

        :raise BridgeError: It is refused.
        """
        guard, headers = self.guard, request.requestHeaders
        # Of other requests any number can be sent; a socket is one of so many.
        upgrade = request.path == SOCKET and request.is_upgrade
        guard.draw(headers, request.authority, upgrade)  # 429
        guard.check_host(headers, request.authority)  # 400, 403
        guard.check_origin(headers)  # 403
        if request.method == b"OPTIONS":
            _check_length(request.length, 0)  # 413
            return answer_preflight
        route = self._routes.find(request)  # 404, 405
        if route.paired:
            guard.authenticate(request)  # 401, 400
        if route.has_body:
            guard.check_content_type(headers)  # 415
        cap = limits.REST_BODY_BYTES if route.has_body else 0
        _check_length(request.length, cap)  # 413
        return route.answer

    def log(self, request: Any) -> None:
        """Write no access log: it would hold what callers sent."""

    def _updateLogDateTime(self) -> None:
        """Keep no time for an access log: Twisted would wake up for it every second."""


def _check_length(length: int | None, cap: int) -> None:
    if cap == 0 and length != 0:
        raise BridgeError(Code.PAYLOAD_TOO_LARGE, "this path accepts no body")
    if length is not None and length > cap:
        raise too_large()
