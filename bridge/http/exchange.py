"""
Requests and responses, over connections to one checked server.

No connection serves two hosts, or two who ask.  No redirect is followed, no proxy used,
no cookie kept, and nothing is read from the environment.

Twisted's agent sends each request as it was checked, and treq collects the body.
treq's client would wrap the agent in others, which keep cookies, inflate bodies without
a bound, and add ``Accept-Encoding``; and it parses the URL itself, without IPv6
literals and underscores.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from attrs import field
from OpenSSL.SSL import Error as TLSError
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, wrapClientTLS
from twisted.internet.error import ConnectError, ConnectingCancelledError
from twisted.internet.interfaces import IProtocolFactory, IStreamClientEndpoint
from twisted.web.http_headers import Headers
from twisted.web.iweb import UNKNOWN_LENGTH, IResponse
from zope.interface import implementer

from ..classes import define, frozen
from ..protocol.errors import unavailable
from ..protocol.limits import OUTBOUND_NEXT_ADDRESS_SECONDS, OUTBOUND_RESPONSE_PIECES
from .responseguard import Count, Guarded, GuardedFactory
from .target import CheckedRequest

if TYPE_CHECKING:
    from twisted.web.client import HTTPConnectionPool

_BROKE_OFF = "the response broke off"
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@frozen
class Head:
    """
    The head of a response.

    :ivar headers: Names in lower case, with every value in the order received.
    :ivar coding: The body's content coding, in lower case; empty for none.
    :ivar length: The body's length as it is declared.
    """

    status: int
    headers: list[tuple[str, list[str]]]
    coding: str
    length: int | None


class Body(Protocol):
    """What a body goes into."""

    def add(self, piece: bytes) -> None:
        """Take the next bytes; may raise ``BridgeError`` to break off."""

    def clear(self) -> None:
        """Free their memory."""


B = TypeVar("B", bound=Body)


@implementer(IStreamClientEndpoint)
@define(eq=False, repr=False)
class Connections:
    """
    The connections to one server, made as requests need them.

    They go to the first of its checked addresses that answers; nothing is looked up.

    :ivar _seconds: How long the last address is tried.
    :ivar _count: Counts what is received.
    :ivar _keep: Whether requests share a connection when the server lets them.
    :ivar _made: The connections so far, the newest last.
    """

    _reactor: Any
    _addresses: Sequence[str]
    _port: int
    _tls: Any | None
    _seconds: float
    _count: Count
    _keep: bool
    _pool: HTTPConnectionPool = field(init=False)
    _made: list[Guarded] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        # With treq a thirtieth of a start, in which nothing is requested.
        from twisted.web.client import HTTPConnectionPool

        self._pool = HTTPConnectionPool(self._reactor, persistent=self._keep)
        self._pool.retryAutomatically = False

    async def ask(
        self, request: CheckedRequest, choose: Callable[[Head], B]
    ) -> tuple[Head, B]:
        """
        Send a request, and receive the response.

        When the server has closed a kept connection meanwhile, it is sent once more
        over another (RFC 9112, section 9.3.1).  That is safe, since connections are
        kept for git's reads only.

        :param choose: Returns what the body goes into; may refuse the response.
        :raise BridgeError: ``unavailable``: no response was received whole; or what
            the body refuses.
        """
        from twisted.web.client import RequestTransmissionFailed, ResponseFailed

        kept = len(self._made)
        for connection in self._made:
            connection.expect_head()
        try:
            return await self._ask(request, choose)
        except (ConnectError, RequestTransmissionFailed, ResponseFailed) as e:
            self._raise_refusal()
            reasons = [reason.value for reason in getattr(e, "reasons", ())]
            if any(isinstance(reason, CancelledError) for reason in reasons):
                raise CancelledError from None
            if kept and kept == len(self._made) and self._made[-1].is_silent:
                return await self.ask(request, choose)
            raise unavailable(_describe(e, reasons)) from None

    async def close(self) -> None:
        """Close them, whatever they are busy with."""
        self._pool.closeCachedConnections()
        for connection in self._made:
            connection.abort()
            await connection.closed

    async def _ask(
        self, request: CheckedRequest, choose: Callable[[Head], B]
    ) -> tuple[Head, B]:
        from treq.content import collect
        from twisted.web.client import FileBodyProducer, ProxyAgent

        # No proxy is asked: alone of Twisted's agents it writes the target as given.
        agent: Any = ProxyAgent(self, self._reactor, self._pool)
        headers = Headers({"host": [request.target.authority]})
        for name, value in request.headers:
            headers.addRawHeader(name, value.encode("latin-1"))
        answer = await agent.request(
            request.method.encode("ascii"),
            request.target.path.encode("ascii"),
            headers,
            FileBodyProducer(BytesIO(request.body)) if request.body else None,
        )
        head = _read_head(answer)
        body = choose(head)
        try:
            await collect(answer, _counted(body.add))
            # A body without a length ends with its connection: was that an end?
            self._check_end()
        except BaseException:
            # The frames of the traceback keep it until garbage is collected.
            body.clear()
            raise
        return head, body

    def _raise_refusal(self) -> None:
        """Raise why a connection was broken off here, if one was."""
        for connection in self._made:
            if connection.refusal is not None:
                raise connection.refusal from None

    def _check_end(self) -> None:
        if self._made[-1].orderly is False:
            self._raise_refusal()
            raise unavailable(_BROKE_OFF)

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[Any]:
        """Connect; fires with the protocol of ``protocolFactory``."""
        return Deferred.fromCoroutine(self._connect(protocolFactory))

    async def _connect(self, client: IProtocolFactory) -> Any:
        factory = GuardedFactory(client.buildProtocol, self._count)
        *others, last = self._addresses
        for address in others:
            try:
                return await self._try(address, OUTBOUND_NEXT_ADDRESS_SECONDS, factory)
            except ConnectError:
                continue
        return await self._try(last, self._seconds, factory)

    async def _try(self, address: str, seconds: float, factory: GuardedFactory) -> Any:
        # In spite of its name, it dials addresses of both versions.
        endpoint: Any = TCP4ClientEndpoint(
            self._reactor, address, self._port, timeout=seconds
        )
        if self._tls is not None:
            endpoint = wrapClientTLS(self._tls, endpoint)
        try:
            connection: Guarded = await endpoint.connect(factory)
        except ConnectingCancelledError:
            raise CancelledError from None
        self._made.append(connection)
        return connection.inner


def _counted(add: Callable[[bytes], object]) -> Callable[[bytes], None]:
    """Count the pieces of a body on their way."""
    numbers = itertools.count(1)

    def receive(piece: bytes) -> None:
        if next(numbers) > OUTBOUND_RESPONSE_PIECES:
            # Chunks of a byte or so: to parse them takes all of the reactor's time.
            raise unavailable("the response comes in too many chunks")
        add(piece)

    return receive


def _read_head(response: IResponse) -> Head:
    length = response.length
    return Head(
        response.code,
        list(_headers(response)),
        _coding(response),
        None if length is UNKNOWN_LENGTH else length,
    )


def _headers(response: IResponse) -> Iterator[tuple[str, list[str]]]:
    for name, values in response.headers.getAllRawHeaders():
        read = [value.decode("latin-1") for value in values]
        # The page makes a Response of them, which takes no others.
        if _NAME.fullmatch(name) and "\0" not in "".join(read):
            yield name.decode("ascii").lower(), read


def _coding(response: IResponse) -> str:
    """Return the content coding (RFC 9110, section 8.4); empty for none."""
    codings = response.headers.getRawHeaders(b"content-encoding", [])
    coding = b", ".join(codings).decode("latin-1").strip().lower()
    return "" if coding == "identity" else coding


def _describe(error: Exception, reasons: list[Any]) -> str:
    """Describe a failure, without anything that was received."""
    if any(map(_is_distrust, reasons)):
        return "the server's certificate is not to be trusted for this host"
    if any(isinstance(reason, TLSError) for reason in reasons):
        return "the server does not speak TLS as it should"
    if isinstance(error, ConnectError):
        return "no connection with the server"
    if getattr(error, "response", None) is not None:
        return _BROKE_OFF
    return "the server's answer is not HTTP, or broke off"


def _is_distrust(reason: BaseException | None) -> bool:
    """Whether a certificate was not accepted: for its signatures, or for its names."""
    verified = "certificate verify failed"
    return isinstance(reason, TLSError) and verified in str(reason.args)
