"""
Speaks HTTP with a server at a checked address: treq, over an agent of ours.

Each request has a connection of its own: its address was checked for this request, and
for no other.  No redirect is followed, no proxy used, no cookie kept, and nothing is
read from the environment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import define, field
from OpenSSL.SSL import Error as TLSError
from service_identity import VerificationError
from treq.client import HTTPClient
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectError
from twisted.internet.interfaces import IConsumer
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.ssl import (
    Certificate,
    optionsForClientTLS,
    trustRootFromCertificates,
)
from twisted.python.failure import Failure
from twisted.web.client import (
    RequestTransmissionFailed,
    ResponseDone,
    ResponseFailed,
)
from twisted.web.http import PotentialDataLoss
from twisted.web.iweb import (
    UNKNOWN_LENGTH,
    IBodyProducer,
    IResponse,
)
from zope.interface import implementer

from ..net.certificates import certificates
from ..protocol.errors import BridgeError, Code
from ..protocol.limits import OUTBOUND_RESPONSE_BYTES, OUTBOUND_RESPONSE_PIECES
from .agent import ANY_URL, CheckedAgent
from .bodytext import CodedBody, JsonText, too_large
from .checkedrequest import CheckedRequest
from .endpoint import CheckedEndpoint
from .target import refused

_BROKE_OFF = "the response broke off"
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@define
class ReceivedResponse:
    """
    A response that was received whole.

    :ivar headers: Names in lower case, with every value in the order received.
    :ivar coding: The body's content coding, in lower case; empty for none.
    :ivar body: What was received of the body: all of it.
    """

    status: int
    headers: list[tuple[str, list[str]]]
    coding: str
    body: JsonText | CodedBody


@implementer(IBodyProducer)
@define
class _Body:
    """Writes a body at once: it is at most 1 MiB."""

    _content: bytes
    length: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.length = len(self._content)

    def startProducing(self, consumer: IConsumer) -> Deferred[None]:
        consumer.write(self._content)
        done: Deferred[None] = Deferred()
        done.callback(None)
        return done

    def pauseProducing(self) -> None:
        """There is nothing left to pause."""

    def resumeProducing(self) -> None:
        """There is nothing left to resume."""

    def stopProducing(self) -> None:
        """There is nothing left to stop."""


class _Collector(Protocol):
    """Receives a body."""

    def __init__(self, body: JsonText | CodedBody) -> None:
        self.body = body
        self.until_closed = False
        self.whole: Deferred[None] = Deferred()
        self._pieces = 0

    def dataReceived(self, data: bytes) -> None:
        if self.whole.called:
            return
        try:
            self._add(data)
        except BridgeError as e:
            self.whole.errback(e)

    def _add(self, data: bytes) -> None:
        self._pieces += 1
        if self._pieces > OUTBOUND_RESPONSE_PIECES:
            # Chunks of a byte or so: to parse them takes all of the reactor's time.
            raise _unavailable("the response comes in too many chunks")
        self.body.add(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self.whole.called:
            return
        # A body without a length ends with its connection: whether that closed in
        # order is known to ``responseguard``.
        self.until_closed = reason.check(PotentialDataLoss) is not None
        if self.until_closed or reason.check(ResponseDone):
            self.whole.callback(None)
        else:
            self.whole.errback(reason)


@define
class HttpClient:
    """
    Makes one request to one server.

    :ivar trust: The trust root for certificates of servers.
    """

    _reactor: Any
    _trust: Any

    async def exchange(
        self, request: CheckedRequest, addresses: Sequence[str]
    ) -> ReceivedResponse:
        """
        Send a request, and receive the response.

        :param addresses: The checked addresses of the target; at least one.
        :raise BridgeError: ``unavailable``: no response was received whole;
            ``bad_request``: it is too large, or TLS can't be spoken with that name.
        """
        target = request.target
        tls = None
        if target.scheme == "https":
            tls = self._tls(target.host)
        endpoint = CheckedEndpoint(
            self._reactor, addresses, target.port, tls, request.seconds
        )
        try:
            return await self._ask(request, endpoint)
        except (ConnectError, RequestTransmissionFailed, ResponseFailed) as e:
            connection = endpoint.connection
            if connection is not None and connection.refusal is not None:
                raise connection.refusal from None
            raise _unavailable(_describe(e)) from None
        finally:
            if endpoint.connection is not None:
                endpoint.connection.abort()
                await endpoint.connection.closed

    def _tls(self, host: str) -> Any:
        """Return the TLS options for a host, whose certificate must match its name."""
        try:
            return optionsForClientTLS(host, trustRoot=self._trust)
        except UnicodeError:
            # Twisted wants a name by RFC 5891, in which there is no underscore.
            raise refused("not a valid host name for TLS (IDNA)") from None

    async def _ask(
        self, request: CheckedRequest, endpoint: CheckedEndpoint
    ) -> ReceivedResponse:
        agent = CheckedAgent(self._reactor, request, endpoint)
        body = _Body(request.body) if request.body else None
        answer: Any = await HTTPClient(agent).request(
            request.method,
            ANY_URL,
            data=body,
            allow_redirects=False,
            unbuffered=True,
            reactor=self._reactor,
        )
        response = agent.response
        assert response is not None  # noqa: S101 (treq has one from this agent alone)
        length = response.length
        if length is not UNKNOWN_LENGTH and length > OUTBOUND_RESPONSE_BYTES:
            raise too_large()
        coding = _coding(response)
        collector = _Collector(CodedBody(coding) if coding else JsonText())
        answer.deliverBody(collector)
        try:
            await _end(collector, endpoint)
        except BaseException:
            # The frames of the traceback keep it until garbage is collected.
            collector.body.clear()
            raise
        headers = list(_headers(response))
        return ReceivedResponse(response.code, headers, coding, collector.body)


def make_client(reactor: Any, trusted: Sequence[bytes] | None = None) -> HttpClient:
    """
    Make a client; blocks while it reads certificates.

    :param trusted: The authorities to trust, in PEM; those of the system by default.
    """
    texts = certificates() if trusted is None else trusted
    loaded = [Certificate.loadPEM(text) for text in texts]
    return HttpClient(reactor, trustRootFromCertificates(loaded))


async def _end(collector: _Collector, endpoint: CheckedEndpoint) -> None:
    """Wait until the body was received whole."""
    await collector.whole
    connection = endpoint.connection
    if collector.until_closed and connection and not connection.orderly:
        raise _unavailable(_BROKE_OFF)


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


def _describe(error: Exception) -> str:
    """Describe a failure, without anything that was received."""
    reasons = [reason.value for reason in getattr(error, "reasons", ())]
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
    """Whether a certificate was not accepted: by its signatures, or by its names."""
    if isinstance(reason, TLSError):
        return "certificate verify failed" in str(reason.args)
    return isinstance(reason, VerificationError)


def _unavailable(message: str) -> BridgeError:
    return BridgeError(Code.UNAVAILABLE, message)
