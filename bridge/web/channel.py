"""
One HTTP connection: one request, framed strictly, answered early, bounded in time.

Twisted's parser reads the head; what it would answer in its own form, or not at all,
is answered here in the daemon's.  A request is validated as soon as its head is
complete, so that no client sends a body that will not be read.  Every answer ends its
connection; who sends more than a request is cut off as soon as that is answered.

::

    waiting for a head   HEAD_SECONDS
    reading a body       BODY_SECONDS, the whole of it
    answering            as long as the call takes
    sending              BODY_SECONDS
    lingering            LINGER_SECONDS, LINGER_BYTES: the client may still be sending,
                         and would lose the answer if the connection closed at once

All connections share, with a bound on the share of each::

    pending   places: the connection that has waited longest is dropped first
    answers   memory: the connection with most that is unread is dropped first
    quota     requests answered in one turn of the reactor, in rotation

Those without the token compete for places, and are answered in a packet; those with it
keep their places, and may be answered at length.
"""

from __future__ import annotations

from typing import Any

from attrs import field
from twisted.internet.abstract import FileDescriptor
from twisted.internet.interfaces import (
    IDelayedCall,
    IHalfCloseableProtocol,
    IReactorTime,
)
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel
from zope.interface import implementer

from ..classes import define
from ..protocol import limits
from ..protocol.errors import BridgeError, Code, bad_request
from .request import GuardedRequest, last_refusal

_FULL_BYTES = FileDescriptor.bufferSize
"""With more unsent than this, Twisted pauses the writer."""

_TLS_HANDSHAKE = b"\x16"


@define(eq=False, repr=False)
class Parts:
    """
    Bounds the sum of what connections take.

    Over it the largest part is dropped; of equals, the one that was there first.  So
    clients that hold connections open take places from each other, and one that sends
    its request at once is always served.
    """

    _limit: int
    _parts: dict[GuardedChannel, int] = field(factory=dict)

    @property
    def total(self) -> int:
        """How much is taken."""
        return sum(self._parts.values())

    def add(self, connection: GuardedChannel, part: int = 1) -> None:
        """Add a connection, as the newest."""
        self.leave(connection)
        self._parts[connection] = part
        while self.total > self._limit:
            largest = max(self._parts, key=self._parts.__getitem__)
            self.leave(largest)
            largest.drop()

    def leave(self, connection: GuardedChannel) -> None:
        """Remove a connection, if present."""
        self._parts.pop(connection, None)


@define(eq=False, repr=False)
class RequestQuota:
    """
    Bounds the requests that are answered in one turn of the reactor.

    A connection that comes when the turn is used up waits for the next one.
    """

    _clock: IReactorTime
    _limit: int = limits.HTTP_REQUESTS_PER_TURN
    _answered: int = 0
    _next: IDelayedCall | None = None
    _waiting: dict[GuardedChannel, None] = field(factory=dict)

    @property
    def free(self) -> bool:
        """Whether a request may be read now."""
        return self._answered < self._limit

    def consume(self, requests: int = 1) -> None:
        """Count a request that is answered in this turn, or what takes as long."""
        self._answered += requests
        self._schedule()

    def wait(self, connection: GuardedChannel) -> None:
        """Call ``resume_reading`` of a connection when it is due."""
        self._waiting[connection] = None
        self._schedule()

    def leave(self, connection: GuardedChannel) -> None:
        """Remove a connection, if it waits."""
        self._waiting.pop(connection, None)

    def _schedule(self) -> None:
        if self._next is None:
            self._next = self._clock.callLater(0, self._begin)

    def _begin(self) -> None:
        self._next = None
        self._answered = 0
        while self._waiting and self.free:
            connection = next(iter(self._waiting))
            del self._waiting[connection]
            connection.resume_reading()


@implementer(IHalfCloseableProtocol)
class GuardedChannel(HTTPChannel):
    """Reads a request from a connection, and closes it when that is answered."""

    requestFactory = GuardedRequest
    maxHeaders = limits.HEADERS
    totalHeadersSize = limits.HEAD_BYTES
    MAX_LENGTH = limits.HEAD_BYTES

    transport: Any
    factory: Any
    _networkProducer: Any
    _deadline: IDelayedCall | None = None
    _begun = False
    _reading = True
    _called = False
    _closing = False
    _client_ended = False
    _early = False
    _sent = False
    _sends_more = False
    _discarded = 0

    def connectionMade(self) -> None:
        """Wait for the head."""
        super().connectionMade()
        self._wait(limits.HEAD_SECONDS)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Forget the connection."""
        self._wait_no_more()
        self.factory.leave(self)
        super().connectionLost(reason)

    def readConnectionLost(self) -> None:
        """Send the answer that is due; the client sends no more, and may wait."""
        self._client_ended = True
        if self._closing:
            self.transport.loseConnection()
        elif not self.paused:
            self._close_if_cut_short()

    def writeConnectionLost(self) -> None:
        """Wait for the client to close, too: all is sent."""
        self._sent = True
        self.factory.answers.leave(self)
        if self._sends_more:
            self.drop()
        else:
            self._wait(limits.LINGER_SECONDS)

    def dataReceived(self, data: bytes) -> None:
        """Accept bytes of the request, or discard what comes after it."""
        if not self._reading:
            self._discard(data)
            return
        if not self._begun:
            self._begun = True
            if data.startswith(_TLS_HANDSHAKE):
                # A handshake ends with no line, and its sender waits for an answer.
                why = "this port does not speak TLS"
                self._refuse(bad_request(why))
                return
        if not self.factory.quota.free:
            self.paused = True
            self._networkProducer.pauseProducing()
            self.factory.quota.wait(self)
        self._read(data)

    def resume_reading(self) -> None:
        """Read what has come: its turn has."""
        self.paused = False
        self._networkProducer.resumeProducing()
        self._read(b"")

    def _read(self, data: bytes) -> None:
        """Read the request; while this is paused, only keep what came."""
        super().dataReceived(data)
        if not self.paused:
            self._close_if_cut_short()

    def lineReceived(self, line: bytes) -> None:
        """Accept one line of the head."""
        if self._reading:
            super().lineReceived(line)
            self._answer_early()

    def rawDataReceived(self, data: bytes) -> None:
        """Accept a piece of the body, or discard what comes after it."""
        if self._reading:
            super().rawDataReceived(data)
            self._answer_early()
        else:
            self._discard(data)

    def lineLengthExceeded(self, line: bytes) -> None:
        """Refuse a line that does not end."""
        self._refuse(_too_long(of_a_header=bool(self.requests)))

    def headerReceived(self, line: bytes) -> bool:
        """Accept one header."""
        try:
            return bool(super().headerReceived(line))
        except ValueError:
            # A length of more digits than Python reads.
            self._respondToBadRequestAndDisconnect()
            return False

    def allHeadersReceived(self) -> None:
        """Validate the head, before any of the body is read."""
        request = self.requests[-1]
        if self._is_ambiguous(request):
            self._respondToBadRequestAndDisconnect()
            return
        self.persistent = False
        request.headReceived(self._command, self._path, self._version, self.length)
        if self.length != 0 and request.refusal is None:
            self._wait(limits.BODY_SECONDS)
            self.factory.pending.leave(self)
            if request.expects_continue():
                self._send100Continue()

    def allContentReceived(self) -> None:
        """Answer the request."""
        if not self._reading:
            return
        self._reading = False
        self._wait_no_more()
        self.factory.quota.consume()
        super().allContentReceived()

    def requestDone(self, request: GuardedRequest) -> None:
        """Close the connection: the request is answered."""
        # A client with the token keeps its place until it has read the answer; only
        # calls use POST.
        self._called = request.method == b"POST" and request.refusal is None
        unread = _FULL_BYTES + request.sentLength if self._waitingForTransport else 0
        super().requestDone(request)
        if self._called and unread:
            self.factory.answers.add(self, unread)

    def loseConnection(self) -> None:
        """Send what is to be sent, and let the client read it before the cut."""
        self._reading, self._closing = False, True
        self._networkProducer.unregisterProducer()
        if self._sends_more:
            self._networkProducer.pauseProducing()
        else:
            self._networkProducer.resumeProducing()
        self._wait(limits.BODY_SECONDS)
        if self._client_ended:
            self.transport.loseConnection()
        else:
            self.transport.loseWriteConnection()

    def drop(self) -> None:
        """Close now, whatever is under way."""
        self._reading = False
        self._wait_no_more()
        self.factory.leave(self)
        self.transport.abortConnection()

    def _discard(self, data: bytes) -> None:
        """Read the rest of what was refused early; of what follows, read nothing."""
        self._discarded += len(data)
        if self._early:
            if self._discarded > limits.LINGER_BYTES:
                self.drop()
        elif self._sent:
            self.drop()
        else:
            self._sends_more = True
            self._networkProducer.pauseProducing()

    def _close_if_cut_short(self) -> None:
        """Close when the client sends no more, and has sent no whole request."""
        if self._client_ended and self._reading:
            self.loseConnection()

    def _is_ambiguous(self, request: GuardedRequest) -> bool:
        """Whether others might see the end of the body elsewhere (RFC 9112, 6.3)."""
        encodings = request.requestHeaders.getRawHeaders(b"transfer-encoding")
        if encodings is None:
            return False
        whole = [encoding.lower() for encoding in encodings] == [b"chunked"]
        return not whole or self._version != b"HTTP/1.1"

    def _answer_early(self) -> None:
        """Answer a request that is refused already, before its body has come."""
        if self._reading and self.requests and self.requests[-1].refusal is not None:
            self._early = True
            self.allContentReceived()

    def _respondToBadRequestAndDisconnect(self) -> None:
        """Refuse bytes that are not HTTP; Twisted would send a bare status line."""
        if self._receivedHeaderSize > self.totalHeadersSize:
            error = _too_long(of_a_header=bool(self.requests))
        elif self._receivedHeaderCount > self.maxHeaders:
            error = BridgeError(
                Code.HEAD_TOO_LARGE, f"there are more than {limits.HEADERS} headers"
            )
        else:
            error = bad_request("this is not a valid HTTP request")
        self._refuse(error)

    def _refuse(self, error: BridgeError) -> None:
        """Answer bytes that are not a request, and stop reading."""
        if self._reading:
            self._early = True
            self.factory.quota.consume()
            self.transport.write(last_refusal(error))
            self.loseConnection()

    def _wait(self, seconds: float) -> None:
        """Set the deadline of the current state."""
        self._wait_no_more()
        self._deadline = self.callLater(seconds, self._expired)
        if not self._called:
            self.factory.pending.add(self)

    def _wait_no_more(self) -> None:
        self.factory.pending.leave(self)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expired(self) -> None:
        self._deadline = None
        if self._sent:
            # Not cut: the system goes on delivering what the client has yet to read.
            self.transport.loseConnection()
        elif self._closing:
            self.drop()
        elif self._begun:
            self._refuse(
                BridgeError(Code.TIMED_OUT, "the request did not arrive in time")
            )
        else:
            self.loseConnection()


def _too_long(*, of_a_header: bool) -> BridgeError:
    size = f"{limits.HEAD_BYTES} bytes"
    if of_a_header:
        return BridgeError(Code.HEAD_TOO_LARGE, f"the headers exceed {size}")
    return BridgeError(Code.URI_TOO_LONG, f"the request line exceeds {size}")
