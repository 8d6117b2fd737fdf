"""
Requests and responses, over connections to one checked server: treq, and our agent.

No connection serves two hosts, or two who ask.  No redirect is followed, no proxy used,
no cookie kept, and nothing is read from the environment.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from OpenSSL.SSL import Error as TLSError
from twisted.internet.defer import CancelledError
from twisted.internet.error import ConnectError
from twisted.web.iweb import UNKNOWN_LENGTH, IResponse

from ..classes import define, frozen
from ..protocol.errors import BridgeError, Code
from ..protocol.limits import OUTBOUND_RESPONSE_PIECES
from .agent import ANY_URL, CheckedAgent
from .endpoint import CheckedEndpoint
from .target import CheckedRequest

if TYPE_CHECKING:
    from twisted.web.client import Agent, HTTPConnectionPool

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


@define(eq=False, repr=False)
class Connections:
    """The connections to one server, made as requests need them."""

    _reactor: Any
    _endpoint: CheckedEndpoint
    _pool: HTTPConnectionPool
    _agent: Agent

    async def ask(
        self, request: CheckedRequest, choose: Callable[[Head], B]
    ) -> tuple[Head, B]:
        """
        Send a request, and receive the response.

        :param choose: Returns what the body goes into; may refuse the response.
        :raise BridgeError: ``unavailable``: no response was received whole; or what
            the body refuses.
        """
        from twisted.web.client import RequestTransmissionFailed, ResponseFailed

        for connection in self._endpoint.made:
            connection.expect_head()
        try:
            return await self._ask(request, choose)
        except (ConnectError, RequestTransmissionFailed, ResponseFailed) as e:
            for connection in self._endpoint.made:
                if connection.refusal is not None:
                    raise connection.refusal from None
            reasons = [reason.value for reason in getattr(e, "reasons", ())]
            if any(isinstance(reason, CancelledError) for reason in reasons):
                raise CancelledError from None
            raise _unavailable(_describe(e, reasons)) from None

    async def close(self) -> None:
        """Close them, whatever they are busy with."""
        self._pool.closeCachedConnections()
        for connection in self._endpoint.made:
            connection.abort()
            await connection.closed

    async def _ask(
        self, request: CheckedRequest, choose: Callable[[Head], B]
    ) -> tuple[Head, B]:
        from treq.client import HTTPClient
        from treq.content import collect

        heads: list[Head] = []
        agent = CheckedAgent(
            self._agent, request, lambda response: heads.append(_read_head(response))
        )
        answer: Any = await HTTPClient(agent).request(
            request.method,
            ANY_URL,
            data=request.body or None,
            allow_redirects=False,
            unbuffered=True,
            reactor=self._reactor,
        )
        (head,) = heads
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

    def _check_end(self) -> None:
        if self._endpoint.made[-1].orderly is False:
            raise _unavailable(_BROKE_OFF)


def connections(reactor: Any, endpoint: CheckedEndpoint, *, keep: bool) -> Connections:
    """
    Get ready to connect.

    :param keep: Whether requests share a connection when the server lets them.
    """
    # With treq a thirtieth of a start, in which nothing is requested.
    from twisted.web.client import Agent, HTTPConnectionPool

    pool = HTTPConnectionPool(reactor, persistent=keep)
    pool.retryAutomatically = False
    agent = Agent.usingEndpointFactory(reactor, endpoint, pool)
    return Connections(reactor, endpoint, pool, agent)


def _counted(add: Callable[[bytes], object]) -> Callable[[bytes], None]:
    """Count the pieces of a body on their way."""
    numbers = itertools.count(1)

    def receive(piece: bytes) -> None:
        if next(numbers) > OUTBOUND_RESPONSE_PIECES:
            # Chunks of a byte or so: to parse them takes all of the reactor's time.
            raise _unavailable("the response comes in too many chunks")
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
        if _NAME.fullmatch(name) and not any("\0" in value for value in read):
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


def _unavailable(message: str) -> BridgeError:
    return BridgeError(Code.UNAVAILABLE, message)
