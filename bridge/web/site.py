"""
HTTP: the routes, and the guard in front of all of them.

``GuardedRequest`` runs the guard before anything is looked up, so no resource can
forget it; Klein finds the route; a call goes to the same dispatcher as a frame does.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable
from typing import Any

from attrs import define
from autobahn.twisted.resource import WebSocketResource
from klein import Klein
from twisted.internet.defer import Deferred, ensureDeferred
from twisted.python.failure import Failure
from twisted.web.iweb import IRequest
from twisted.web.resource import IResource
from twisted.web.server import Request, Site
from werkzeug.exceptions import MethodNotAllowed, NotFound

from ..protocol import limits
from ..protocol.errors import BridgeError, Code
from ..protocol.frames import error_fields
from ..protocol.wire import dumps, loads
from ..rpc.registry import Registry
from .conversation import Edge
from .guard import Guard
from .socket import BridgeFactory

_NAME = re.compile(rf"[a-z0-9_-]{{1,{limits.NAME_CHARACTERS}}}")
_ALWAYS = {
    b"content-type": b"application/json",
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'",
    b"cross-origin-resource-policy": b"same-origin",
    b"vary": b"Origin",
    b"x-content-type-options": b"nosniff",
}
_CORS = {
    b"access-control-allow-methods": b"GET, POST, OPTIONS",
    b"access-control-allow-headers": b"content-type, authorization",
    b"access-control-max-age": b"600",
}


class GuardedRequest(Request):
    """A request that is judged before it is routed, with a bounded body."""

    site: GuardedSite
    oversized = False
    _received = 0

    def gotLength(self, length: int | None) -> None:  # noqa: N802
        """Make room for the body, never for more than the cap."""
        self.oversized = (length or 0) > limits.REST_BODY_BYTES
        super().gotLength(0 if self.oversized else length)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        """Keep a piece of the body, unless it is too large already."""
        self._received += len(data)
        self.oversized = self.oversized or self._received > limits.REST_BODY_BYTES
        if not self.oversized:
            super().handleContentChunk(data)

    def process(self) -> None:
        """Judge the head; route the request only when it passes."""
        guard = self.site.guard
        for name, value in _ALWAYS.items():
            self.setHeader(name, value)
        origin = guard.allowed_origin(self.requestHeaders)
        if origin is not None:
            self._allow(origin)
        try:
            guard.admit(self.requestHeaders)
        except BridgeError as error:
            self._finish_with(refuse(self, error))
        else:
            if self.method == b"OPTIONS":
                self._answer_preflight()
            else:
                super().process()

    def setHeader(self, name: bytes | str, value: bytes | str) -> None:  # noqa: N802
        """Set a header; but what software answers is nobody's business."""
        if name not in (b"server", b"date"):
            super().setHeader(name, value)

    def _allow(self, origin: bytes) -> None:
        self.setHeader(b"access-control-allow-origin", origin)
        for name, value in _CORS.items():
            self.setHeader(name, value)

    def _answer_preflight(self) -> None:
        asked = self.requestHeaders.hasHeader(b"access-control-request-private-network")
        if asked and self.responseHeaders.hasHeader(b"access-control-allow-origin"):
            self.setHeader(b"access-control-allow-private-network", b"true")
        self.responseHeaders.removeHeader(b"content-type")
        self.setResponseCode(204)
        self._finish_with(b"")

    def _finish_with(self, body: bytes) -> None:
        self.write(body)
        self.finish()


class GuardedSite(Site):
    """The HTTP server."""

    requestFactory = GuardedRequest  # noqa: N815 (Twisted's name)
    displayTracebacks = False  # noqa: N815

    def __init__(self, resource: IResource, guard: Guard, **kwargs: Any) -> None:
        super().__init__(resource, **kwargs)
        self.guard = guard

    def log(self, request: Any) -> None:
        """Write no access log: it would hold what callers sent."""


def refuse(request: IRequest, error: BridgeError) -> bytes:
    """Turn a refusal into a response: set its status and headers, give its body."""
    request.setResponseCode(error.code.status)
    if error.retry_after is not None:
        request.setHeader(b"retry-after", str(error.retry_after).encode("ascii"))
    if error.code is Code.UNAUTHORIZED:
        request.setHeader(b"www-authenticate", b'Bearer realm="plugin-bridge"')
    return dumps({"ok": False, "error": error_fields(error)})


def detached(calling: Awaitable[bytes]) -> Deferred[bytes]:
    """
    Wait for a call on a copy: Klein cancels what it waits for when the client goes.

    A call that has begun goes on; only its answer is lost.
    """
    copy: Deferred[bytes] = Deferred(lambda _: None)
    ensureDeferred(_awaited(calling)).addBoth(
        lambda outcome: None if copy.called else copy.callback(outcome)
    )
    return copy


async def _awaited(calling: Awaitable[bytes]) -> bytes:
    return await calling


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

    def health(self, request: IRequest) -> bytes:
        """Answer the liveness probe; no token."""
        return dumps(
            {
                "ok": True,
                "version": self.edge.version,
                "services": self.registry.names(),
            }
        )

    def socket(self, request: IRequest) -> IResource:
        """Hand the connection to a session."""
        upgrade = request.requestHeaders.getRawHeaders(b"upgrade") or [b""]
        if upgrade[0].lower() != b"websocket":
            raise BridgeError(Code.BAD_REQUEST, "this path speaks WebSocket only")
        if self.sockets.crowded:
            raise BridgeError(Code.UNAVAILABLE, "too many sockets are open")
        resource: IResource = WebSocketResource(self.sockets)
        return resource

    def describe(self, request: IRequest) -> bytes:
        """Describe every service."""
        self._need_dev()
        self.edge.guard.authenticate(request.requestHeaders)
        services = self.registry.describe()
        return dumps(
            {"version": self.edge.version, "socket": "/v1/ws", "services": services}
        )

    def call(
        self, request: GuardedRequest, service: str, method: str
    ) -> Deferred[bytes]:
        """Call a method of a service."""
        self._need_dev()
        if not (_NAME.fullmatch(service) and _NAME.fullmatch(method)):
            raise BridgeError(Code.NOT_FOUND, "there is nothing at this path")
        self.edge.guard.authenticate(request.requestHeaders)
        self.edge.guard.check_content_type(request.requestHeaders)
        params = _body(request)
        return detached(self._call(service, method, params))

    async def _call(self, service: str, method: str, params: Any) -> bytes:
        return dumps(await self.edge.dispatcher.call(service, method, params))

    def _need_dev(self) -> None:
        if not self.dev:
            raise self.nothing_here()

    def nothing_here(self) -> BridgeError:
        """Say that a path has nothing, and what might put something there."""
        if self.dev:
            return BridgeError(Code.NOT_FOUND, "there is nothing at this path")
        return BridgeError(
            Code.NOT_FOUND,
            "only /v1/health and /v1/ws are here; calls by HTTP need --dev",
        )


def _body(request: GuardedRequest) -> Any:
    if request.oversized:
        raise BridgeError(
            Code.PAYLOAD_TOO_LARGE, f"the body exceeds {limits.REST_BODY_BYTES} bytes"
        )
    assert request.content is not None  # noqa: S101 (set before the body is read)
    text = request.content.read()
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        raise BridgeError(Code.MALFORMED_BODY, "the body is not UTF-8") from None
    return loads(text) if text.strip() else {}


def _app(routes: Routes) -> Klein:
    app = Klein()
    app.route("/v1/health", methods=["GET"])(routes.health)
    app.route("/v1/ws", methods=["GET"])(routes.socket)
    app.route("/v1/describe", methods=["GET"])(routes.describe)
    app.route("/v1/<service>/<method>", methods=["POST"])(routes.call)

    @app.handle_errors(BridgeError)
    def refused(request: IRequest, failure: Failure) -> bytes:
        error = failure.value
        assert isinstance(error, BridgeError)  # noqa: S101 (Klein chose by type)
        return refuse(request, error)

    @app.handle_errors(MethodNotAllowed)
    def wrong_method(request: IRequest, failure: Failure) -> bytes:
        allowed = sorted(getattr(failure.value, "valid_methods", None) or ())
        known_always = request.path in (b"/v1/health", b"/v1/ws")
        if not routes.dev and not known_always:
            return refuse(request, routes.nothing_here())
        request.setHeader(b"allow", ", ".join(allowed).encode("ascii"))
        return refuse(
            request,
            BridgeError(Code.METHOD_NOT_ALLOWED, "this path takes another method"),
        )

    @app.handle_errors(NotFound)
    def not_found(request: IRequest, failure: Failure) -> bytes:
        return refuse(request, routes.nothing_here())

    return app


def make_site(edge: Edge, sockets: BridgeFactory, dev: bool, **kwargs: Any) -> Site:
    """
    Build the HTTP server.

    :param kwargs: For ``twisted.web.server.Site``.
    """
    resource = _app(Routes(edge, sockets, dev)).resource()
    return GuardedSite(resource, edge.guard, **kwargs)
