"""
HTTP: which path answers what.

A request comes here judged (``bridge.web.request``).  Klein finds the route; a call
goes to the same dispatcher as a frame does.
"""

from __future__ import annotations

import re
from collections.abc import Coroutine
from typing import Any

from attrs import define
from autobahn.twisted.resource import WebSocketResource
from klein import Klein
from twisted.internet.defer import Deferred, ensureDeferred
from twisted.python.failure import Failure
from twisted.web.iweb import IRequest
from twisted.web.resource import IResource
from twisted.web.server import Site
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from ..protocol import limits
from ..protocol.errors import BridgeError, Code
from ..protocol.wire import dumps, loads
from ..rpc.registry import Registry
from .conversation import Edge
from .request import GuardedRequest, GuardedSite, is_utf8, refuse
from .socket import BridgeFactory

_NAME = re.compile(rf"[a-z0-9_-]{{1,{limits.NAME_CHARACTERS}}}")


def detached(calling: Coroutine[Deferred[Any], Any, bytes]) -> Deferred[bytes]:
    """
    Wait for a call on a copy: Klein cancels what it waits for when the client goes.

    A call that has begun goes on; only its answer is lost.
    """
    copy: Deferred[bytes] = Deferred(lambda _: None)
    ensureDeferred(calling).addBoth(
        lambda outcome: None if copy.called else copy.callback(outcome)
    )
    return copy


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
        # It has been judged; Autobahn would judge it again, by rules of its own.
        request.requestHeaders.removeHeader(b"origin")
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
    if not is_utf8(text):
        raise BridgeError(Code.MALFORMED_BODY, "the body is not UTF-8")
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

    # Besides "not found": redirects, which would repeat the path.
    @app.handle_errors(HTTPException)
    def not_found(request: IRequest, failure: Failure) -> bytes:
        return refuse(request, routes.nothing_here())

    return app


def make_site(edge: Edge, sockets: BridgeFactory, dev: bool, **kwargs: Any) -> Site:
    """
    Build the HTTP server.

    :param kwargs: For ``twisted.web.server.Site``.
    """
    routes = Routes(edge, sockets, dev)
    resource = _app(routes).resource()
    return GuardedSite(resource, edge.guard, routes.nothing_here, **kwargs)
