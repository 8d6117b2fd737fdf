"""
One HTTP connection: framed strictly, answered early, and bounded in time.

Twisted's parser reads the head; what it would answer in its own form, or not at all,
is answered here in the daemon's.  A request is validated as soon as its head is
complete, so that no client sends a body that will not be read.

::

    waiting for a head   HEAD_SECONDS from its first byte; KEEP_ALIVE_SECONDS for that
    reading a body       BODY_SECONDS, the whole of it
    answering            as long as the call takes
    lingering            LINGER_SECONDS, LINGER_BYTES: the client may still be sending,
                         and would lose the answer if the connection closed at once
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.abstract import FileDescriptor
from twisted.internet.interfaces import IDelayedCall, IHalfCloseableProtocol
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel
from zope.interface import implementer

from ..protocol import limits
from ..protocol.errors import BridgeError, Code
from .connectionlimits import ConnectionLimits
from .headers import last_refusal
from .request import GuardedRequest

_FULL_BYTES = FileDescriptor.bufferSize
"""With more unsent than this, Twisted pauses the writer."""

_TLS_HANDSHAKE = b"\x16"


@implementer(IHalfCloseableProtocol)
class GuardedChannel(HTTPChannel):
    """Reads requests from one connection, one after the other."""

    requestFactory = GuardedRequest
    maxHeaders = limits.HEADERS
    totalHeadersSize = limits.HEAD_BYTES
    MAX_LENGTH = limits.HEAD_BYTES

    transport: Any
    shared: ConnectionLimits
    anonymous_answers = 0
    paused: bool
    line_mode: int
    _busyReceiving: bool  # noqa: N815
    _waitingForTransport: bool
    callLater: Callable[..., IDelayedCall]
    _networkProducer: Any
    _deadline: IDelayedCall | None = None
    _begun = False
    _unread = False
    _whole = False
    _lingering = False
    _reading = False
    _dropped = False
    _discarded = 0

    def connectionMade(self) -> None:
        """Wait for the first head."""
        super().connectionMade()
        self._wait(limits.HEAD_SECONDS)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Forget the connection."""
        self._wait_no_more()
        self.shared.leave(self)
        super().connectionLost(reason)

    def readConnectionLost(self) -> None:
        """Send the answers that are due; the client sends no more, and may wait."""
        self._whole = True
        if self._lingering:
            self.transport.loseConnection()
        else:
            self._end_if_whole()

    def writeConnectionLost(self) -> None:
        """Keep reading: this side ended it."""

    def dataReceived(self, data: bytes) -> None:
        """Accept bytes of a head or of a body, or discard them."""
        if self._dropped:
            return
        if self._lingering:
            self._discarded += len(data)
            if self._discarded > limits.LINGER_BYTES:
                self.drop()
            return
        # Only a caller with the token gets to send a body.
        if self.line_mode and not (self.paused or self.shared.quota.free):
            self._wait_for_turn()
        self._read(data)

    def _read(self, data: bytes) -> None:
        """Read requests; while this is paused, only keep what came."""
        if not self._begun and not self._handlingRequest:
            self._begun = True
            self._wait(limits.HEAD_SECONDS)
            if data.startswith(_TLS_HANDSHAKE):
                # A handshake ends with no line, and its sender waits for an answer.
                self._refuse(
                    BridgeError(Code.BAD_REQUEST, "this port does not speak TLS")
                )
                return
        super().dataReceived(data)
        self._end_if_whole()

    def resume_reading(self) -> None:
        """See ``bridge.web.connectionlimits.LimitedConnection``."""
        self.paused = False
        self._networkProducer.resumeProducing()
        if data := self.clearLineBuffer():
            self._read(data)
        else:
            self._end_if_whole()

    def lineReceived(self, line: bytes) -> None:
        """Accept one line of a head."""
        if not self._lingering:
            super().lineReceived(line)
            self._answer_early()

    def rawDataReceived(self, data: bytes) -> None:
        """Accept a piece of a body, or of the request after it."""
        if not self._lingering:
            super().rawDataReceived(data)
            self._answer_early()

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
        self.persistent = self.checkPersistence(request, self._version)
        request.headReceived(self._command, self._path, self._version, self.length)
        if self.length != 0 and request.refusal is None:
            self._wait(limits.BODY_SECONDS)
            self.shared.pending.leave(self)
            if request.expects_continue():
                self._send100Continue()

    def allContentReceived(self) -> None:
        """Answer the request."""
        if self._lingering:
            return
        self._wait_no_more()
        self.shared.quota.consume()
        super().allContentReceived()

    def requestDone(self, request: GuardedRequest) -> None:
        """Wait for the next request, or end."""
        self._begun = False
        full = self._waitingForTransport
        # A client with the token keeps its place until it has read the answer; only
        # calls use POST.  Any other client could fill the transport with refusals.
        called = request.method == b"POST" and request.refusal is None
        self._reading = called and full
        self.anonymous_answers += not called
        if full:
            unsent = self.shared.answers if called else self.shared.unsent
            unsent.add(self, _FULL_BYTES + request.sentLength)
        if self.persistent and not self._dropped:
            self._wait(limits.KEEP_ALIVE_SECONDS)
            # Twisted would answer every request that has come, read or unread.
            self.paused = full or not self.shared.quota.free
        super().requestDone(request)
        if self.paused:
            self._wait_for_turn()
        self._end_if_whole()

    def resumeProducing(self) -> None:
        """Continue: all but the last of what was written has been read."""
        super().resumeProducing()
        self.shared.unsent.leave(self)
        self.shared.answers.leave(self)
        if self._reading:
            self._reading = False
            if not (self._begun or self._handlingRequest):
                self._wait(limits.KEEP_ALIVE_SECONDS)
        if self.paused:
            self._wait_for_turn()

    def loseConnection(self) -> None:
        """Close when all is sent, or when the client has not read it in time."""
        if self._unread:
            self._linger()
        else:
            self._wait(limits.BODY_SECONDS)
            super().loseConnection()

    def drop(self) -> None:
        """Close now, whatever is under way."""
        self._dropped = True
        self._wait_no_more()
        self.shared.leave(self)
        self.transport.abortConnection()

    def _wait_for_turn(self) -> None:
        """Read nothing until it is this connection's turn, and its answers are sent."""
        self.paused = True
        self._networkProducer.pauseProducing()
        if self._waitingForTransport or self._handlingRequest:
            return  # this is called again when that ends
        if self.shared.quota.free:
            self.resume_reading()
        else:
            self.shared.quota.wait(self)

    def _end_if_whole(self) -> None:
        """Close when the client sends no more, and every request is answered."""
        busy = self._handlingRequest or self._busyReceiving or self.paused
        if not self._whole or busy or self._lingering or self._dropped:
            return
        if not self.transport.disconnecting:
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
        if self._lingering or self._handlingRequest or not self.requests:
            return
        if self.requests[-1].refusal is not None:
            self.persistent = False
            self.requests[-1].setHeader(b"connection", b"close")
            self._unread = True
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
            error = BridgeError(Code.BAD_REQUEST, "this is not a valid HTTP request")
        self._refuse(error)

    def _refuse(self, error: BridgeError) -> None:
        """Answer bytes that are not a request, and stop reading."""
        if not self._lingering:
            self.shared.quota.consume()
            self.transport.write(last_refusal(error))
            self._linger()

    def _linger(self) -> None:
        """Stop sending, and let the client read what was sent before the cut."""
        self._lingering = True
        self._networkProducer.unregisterProducer()
        self._networkProducer.resumeProducing()
        self._wait(limits.LINGER_SECONDS)
        self.transport.loseWriteConnection()

    def _wait(self, seconds: float) -> None:
        """Set the deadline of the current state."""
        self._wait_no_more()
        self._deadline = self.callLater(seconds, self._expired)
        if not self._reading:
            self.shared.pending.join(self)

    def _wait_no_more(self) -> None:
        self.shared.pending.leave(self)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expired(self) -> None:
        self._deadline = None
        if self._lingering or self.transport.disconnecting:
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
