"""
Requests and responses, over guarded connections to one checked server.

No connection serves two hosts, or two who ask.  No redirect is followed, no proxy used,
no cookie kept, and nothing is read from the environment.

Twisted's protocol sends each request as it was checked, and treq collects the body.
treq's client, over Twisted's agents, would keep cookies, inflate bodies without a
bound, and add ``Accept-Encoding``; and it parses the URL itself, without IPv6 literals
and underscores.

Twisted's parser takes a head of any size and any number of interim ones, and logs each
of those; it accepts any word as a protocol.  So each connection guards it, and only one
plain head, and then a body, pass.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from typing import Any, Protocol, TypeVar

from attrs import field
from OpenSSL.SSL import Error as TLSError
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, wrapClientTLS
from twisted.internet.error import (
    ConnectError,
    ConnectingCancelledError,
    ConnectionDone,
)
from twisted.internet.protocol import Factory, connectionDone
from twisted.python.failure import Failure
from twisted.web._newclient import (
    HTTP11ClientProtocol,
    Request,
    RequestTransmissionFailed,
    ResponseFailed,
)
from twisted.web.http_headers import Headers
from twisted.web.iweb import UNKNOWN_LENGTH, IResponse

from ..classes import define, frozen
from ..protocol import limits
from ..protocol.errors import BridgeError, unavailable
from ..protocol.limits import OUTBOUND_NEXT_ADDRESS_SECONDS, OUTBOUND_RESPONSE_PIECES
from .target import CheckedRequest

# Heads and chunks are read in small pieces: a reactor's turn is over sooner when they
# are hard to parse.  A body that only has a length is not parsed at all.
_READ_BYTES = 8 * 1024
_READ_BYTES_OF_A_BODY = 64 * 1024
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5])[0-9]{2}(?: [^\r\n]*)?\r?\n")
# Exactly where Twisted's parser sees the end of a head.
_END = re.compile(rb"\n\r?\n")
_TOO_LARGE = "the head of the response is too large"
_BROKE_OFF = "the response broke off"

# Nobody waits longer: who asks has a deadline.
_LAST_ADDRESS_SECONDS = max(
    limits.CLONE_SECONDS, limits.OUTBOUND_MOST_MILLISECONDS / 1000
)

Count = Callable[[int], object]
"""Receives how many bytes have come; may raise ``BridgeError`` to break off."""


class Guarded(HTTP11ClientProtocol):
    """
    One connection, for one request after the other.

    :ivar is_kept: Whether it waits for another request.
    :ivar refusal: Why the connection was broken off, when it was broken off here.
    :ivar orderly: Whether it was closed as one does at an end; ``None`` until it is.
    :ivar closed: Fires when the connection has closed.
    """

    def __init__(self, count: Count) -> None:
        super().__init__(_keep)
        self._count = count
        self.is_kept = False
        self.refusal: BridgeError | None = None
        self.orderly: bool | None = None
        self.closed: Deferred[None] = Deferred()
        self._head: bytearray | None = bytearray()
        self._interim = 0

    def request(self, request: Request) -> Deferred[IResponse]:
        """See ``HTTP11ClientProtocol``: fires with a response once it has its head."""
        self.is_kept = False
        self._head = bytearray()
        self._interim = 0
        self._read_in(_READ_BYTES)
        return super().request(request)

    def dataReceived(self, data: bytes) -> None:
        """Check what is received, and pass it on."""
        if self.refusal is not None:
            return
        try:
            self._count(len(data))
        except BridgeError as refusal:
            self._break_off(refusal)
            return
        if self._head is None:
            super().dataReceived(data)
            self._check_chunk()
        else:
            searched = max(len(self._head) - 2, 0)
            self._head += data
            self._read_heads(self._head, searched)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Notify who waits for a response, and fire ``closed``."""
        self.is_kept = False
        self.orderly = reason.check(ConnectionDone) is not None
        super().connectionLost(reason)
        self.closed.callback(None)

    @property
    def is_silent(self) -> bool:
        """Whether nothing has come of the response that is expected."""
        return self._head is not None and not self._head

    def check_end(self) -> None:
        """
        Check that the connection is open, or was closed as one does at an end.

        :raise BridgeError: ``unavailable``: it broke off, or why it was broken off.
        """
        if self.orderly is False:
            raise self.refusal or unavailable(_BROKE_OFF)

    def drop(self) -> None:
        """Close the connection now; does nothing if it is closed."""
        transport: Any = self.transport
        if self.orderly is None:
            transport.abortConnection()

    def _read_heads(self, head: bytearray, searched: int) -> None:
        while (end := _END.search(head, searched)) is not None:
            status = _STATUS.match(head)
            rule = _broken_rule(head[: end.end()], status)
            if status is None or rule:
                self._refuse(rule)
                return
            if status[1] != b"1":
                self._pass_on(head)
                return
            self._interim += 1
            if self._interim > limits.OUTBOUND_INTERIM_HEADS:
                self._refuse("too many interim responses")
                return
            del head[: end.end()]
            searched = 0
        if len(head) > limits.OUTBOUND_HEAD_BYTES:
            self._refuse(_TOO_LARGE)

    def _check_chunk(self) -> None:
        """Refuse a chunk that is too large at the line that says so."""
        # Twisted's parser keeps to itself what it is about to receive.
        length = getattr(getattr(self._parser, "bodyDecoder", None), "length", 0)
        if length > limits.OUTBOUND_RECEIVED_BYTES:
            self._refuse(f"a chunk of more than {limits.OUTBOUND_RECEIVED_BYTES} bytes")

    def _read_in(self, size: int) -> None:
        transport: Any = self.transport
        # Of TLS, the transport below it reads.
        getattr(transport, "transport", transport).bufferSize = size

    def _pass_on(self, head: bytearray) -> None:
        self._head = None
        if b"transfer-encoding" not in head.lower():
            self._read_in(_READ_BYTES_OF_A_BODY)
        super().dataReceived(bytes(head))
        self._check_chunk()

    def _refuse(self, rule: str) -> None:
        self._break_off(unavailable(f"the server's answer: {rule}"))

    def _break_off(self, refusal: BridgeError) -> None:
        self.refusal = refusal
        self.drop()


def _keep(connection: Guarded) -> None:
    # A method of its own would be a cycle, and a connection of TLS stay in memory.
    connection.is_kept = True


def _broken_rule(head: bytearray, status: re.Match[bytes] | None) -> str:
    """Return what is wrong with a head; empty when nothing is."""
    if len(head) > limits.OUTBOUND_HEAD_BYTES:
        return _TOO_LARGE
    lines = head.split(b"\n")
    if max(map(len, lines)) > limits.OUTBOUND_HEAD_LINE_BYTES:
        return (
            f"a line of its head has more than {limits.OUTBOUND_HEAD_LINE_BYTES} bytes"
        )
    if status is None or len(lines) > limits.OUTBOUND_HEAD_LINES + 1:
        return "the head of the response is not usable"
    return ""


_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@frozen
class Head:
    """
    The head of a response.

    :ivar headers: By name in lower case, every value in the order received.
    :ivar coding: The body's content coding, in lower case; empty for none.
    :ivar length: The body's length as it is declared.
    """

    status: int
    headers: dict[str, list[str]]
    coding: str
    length: int | None


class Body(Protocol):
    """What a body goes into: a ``bytearray``, for one."""

    def extend(self, piece: bytes, /) -> None:
        """Take the next bytes; may raise ``BridgeError`` to break off."""

    def clear(self) -> None:
        """Free their memory."""


B = TypeVar("B", bound=Body)


@define(eq=False, repr=False)
class Connections:
    """
    The connections to one server, made as requests need them.

    They go to the first of its checked addresses that answers; nothing is looked up.

    :ivar _count: Counts what is received.
    :ivar _keep: Whether requests share a connection when the server lets them.
    """

    _reactor: Any
    _addresses: Sequence[str]
    _port: int
    _tls: Any | None
    _count: Count
    _keep: bool
    _made: list[Guarded] = field(factory=list, init=False)

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
        kept = next((made for made in self._made if made.is_kept), None)
        connection = kept or await self._connect()
        try:
            return await self._ask(connection, request, choose)
        except (RequestTransmissionFailed, ResponseFailed) as e:
            if connection.refusal is not None:
                raise connection.refusal from None
            reasons = [reason.value for reason in e.reasons]
            if any(isinstance(reason, CancelledError) for reason in reasons):
                raise CancelledError from None
            if kept is not None and kept.is_silent:
                return await self.ask(request, choose)
            raise unavailable(_describe(e, reasons, self._tls)) from None

    async def close(self) -> None:
        """Close them, whatever they are busy with."""
        for connection in self._made:
            connection.drop()
            await connection.closed

    async def _ask(
        self,
        connection: Guarded,
        request: CheckedRequest,
        choose: Callable[[Head], B],
    ) -> tuple[Head, B]:
        # A thirtieth of a start, in which nothing is requested.
        from treq.content import collect
        from twisted.web.client import FileBodyProducer

        headers = Headers({"host": [request.target.authority]})
        for name, value in request.headers:
            headers.addRawHeader(name, value.encode("latin-1"))
        content = FileBodyProducer(BytesIO(request.body)) if request.body else None
        method, path = request.method.encode("ascii"), request.target.path
        sent = Request(method, path.encode("ascii"), headers, content, self._keep)
        answer = await connection.request(sent)
        head = _read_head(answer)
        body = choose(head)
        try:
            await collect(answer, _counted(body.extend))
            # A body without a length ends with its connection: was that an end?
            connection.check_end()
        except BaseException:
            # The frames of the traceback keep it until garbage is collected.
            body.clear()
            raise
        return head, body

    async def _connect(self) -> Guarded:
        *others, last = self._addresses
        for address in others:
            try:
                return await self._try(address, OUTBOUND_NEXT_ADDRESS_SECONDS)
            except ConnectError:
                continue
        try:
            return await self._try(last, _LAST_ADDRESS_SECONDS)
        except ConnectError:
            raise unavailable("no connection with the server") from None

    async def _try(self, address: str, seconds: float) -> Guarded:
        # In spite of its name, it dials addresses of both versions.
        endpoint: Any = TCP4ClientEndpoint(
            self._reactor, address, self._port, timeout=seconds
        )
        if self._tls is not None:
            endpoint = wrapClientTLS(self._tls, endpoint)
        factory = Factory.forProtocol(partial(Guarded, self._count))
        factory.noisy = False
        try:
            connection: Guarded = await endpoint.connect(factory)
        except ConnectingCancelledError:
            raise CancelledError from None
        self._made.append(connection)
        return connection


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
    headers = {}
    for name, values in response.headers.getAllRawHeaders():
        read = [value.decode("latin-1") for value in values]
        # The page makes a Response of them, which takes no others.
        if _NAME.fullmatch(name) and "\0" not in "".join(read):
            headers[name.decode("ascii").lower()] = read
    # RFC 9110, section 8.4.
    coding = ", ".join(headers.get("content-encoding", ())).strip().lower()
    coding = "" if coding == "identity" else coding
    length = None if response.length is UNKNOWN_LENGTH else response.length
    return Head(response.code, headers, coding, length)


def _describe(error: Exception, reasons: list[Any], tls: Any | None) -> str:
    """Describe a failure, without anything that was received."""
    of_tls = [str(r.args) for r in reasons if isinstance(r, TLSError)]
    if tls and any("certificate verify failed" in text for text in of_tls):
        return f"the server's certificate {tls.fault}"
    if of_tls:
        return "the server does not speak TLS as it should"
    if getattr(error, "response", None) is not None:
        return _BROKE_OFF
    return "the server's answer is not HTTP, or broke off"
