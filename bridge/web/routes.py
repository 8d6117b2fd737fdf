"""
The routes with names in them, by Klein, and what the site refuses as unknown.

Only a few requests come here; so Klein is loaded by the first of them, or with
``--dev`` soon after the daemon listens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar
from urllib.parse import unquote

from attrs import define, field
from klein import Klein
from klein.interfaces import IKleinRequest
from klein.resource import KleinResource
from orjson import Fragment
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from werkzeug.exceptions import HTTPException, MethodNotAllowed
from werkzeug.routing import BaseConverter, MapAdapter, ValidationError
from zope.interface import classImplements

from ..protocol import limits
from ..protocol.errors import BridgeError, Code, internal_error
from ..protocol.strictjson import dumps, loads
from ..protocol.version import PROTOCOL
from ..rpc.dispatch import Dispatcher
from ..schemas import PROTOCOL_FILE, read_schema
from .headers import MethodError
from .request import GuardedRequest, Route

Endpoint = Callable[..., Coroutine[Deferred[Any], Any, bytes]]

_NAME = re.compile(rf"[a-z0-9_-]{{1,{limits.NAME_CHARACTERS}}}")

# Klein keeps its mapper here, and uses nothing else of the interface.
classImplements(GuardedRequest, IKleinRequest)  # type: ignore[misc]


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
    refused (docs/decisions/0016), and when Klein renders it.

    :ivar health: Returns the body for the liveness probe.
    :ivar dev: Whether calls by HTTP and ``describe`` are there.
    """

    version: str
    dispatcher: Dispatcher
    health: Callable[[], bytes]
    dev: bool
    _app: Klein = field(factory=Klein, init=False)
    _paths: MapAdapter = field(init=False)
    _resource: KleinResource = field(init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        # A path is matched as it was sent, or two readers might disagree on it.
        self._app.url_map.merge_slashes = False
        self._app.url_map.converters["name"] = _NameConverter
        self._route("/v1/health", "GET", self.alive)
        self._route("/v1/ws", "GET", self.socket)
        if self.dev:
            self._route("/v1/describe", "GET", self.describe)
            self._route("/v1/<name:service>/<name:method>", "POST", self.call)
        on: Any = self._app.handle_errors
        on(BridgeError)(self._refuse)
        on(HTTPException)(self._refuse_path)
        on(Exception)(self._fail)
        self._paths = self._app.url_map.bind("localhost")
        self._resource = self._app.resource()

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
            answering = shielded(answer(request, **names))
            return answering.addCallback(lambda body: request.begin(200, body))

        self._app.route(path, methods=[method], endpoint=answer.__name__)(run)

    def _refuse(self, request: GuardedRequest, failure: Failure) -> bytes:
        """Answer with a refusal."""
        error: Any = failure.value
        return request.refuse(error)

    def _refuse_path(self, request: GuardedRequest, failure: Failure) -> bytes:
        """Answer a request without a route."""
        error: Any = failure.value
        return request.refuse(self._no_route(error))

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
        return dumps(await self.dispatcher.call(service, method, params))

    async def alive(self, _: GuardedRequest) -> bytes:
        """Answer the liveness probe by ``HEAD``; the site answers ``GET`` itself."""
        return self.health()

    async def describe(self, _: GuardedRequest) -> bytes:
        """Describe every service, and the protocol."""
        return dumps(
            {
                "version": self.version,
                "protocol": PROTOCOL,
                "socket": "/v1/ws",
                "services": self.dispatcher.registry.describe(),
                "description": Fragment(read_schema(PROTOCOL_FILE)),
            }
        )

    async def socket(self, _: GuardedRequest) -> bytes:
        """
        Refuse a request that is no upgrade; the site upgrades those that are.

        :raise BridgeError: Always.
        """
        raise BridgeError(Code.BAD_REQUEST, "this path speaks WebSocket only")


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
