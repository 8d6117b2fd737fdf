"""
The WebSocket of a conversation: Autobahn's framing (RFC 6455), changed where it is too
slow or too patient, and every close with a code and a reason of ours.

Autobahn unmasks and validates byte by byte in Python, reads every frame that has come
before any other socket has its turn, and keeps reading after a violation.  Here a
piece of a frame is unmasked and validated at once, many frames are read over
several turns, and nothing is read after a violation.

Autobahn's classes have hundreds of attributes of their own; what is ours is in
``bridge.web.websocket.conversation``, where no name can collide.
"""

from __future__ import annotations

import codecs
import math
from typing import Any

from autobahn.twisted.websocket import WebSocketServerProtocol
from twisted.internet.interfaces import IDelayedCall, ITCPTransport
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure

from ...protocol import limits
from ...protocol.errors import CloseCode, CloseReason, bad_request
from ...protocol.strictjson import Size
from ...websocket import QuietLog, head, masked, parse_text_frame
from ..request import last_refusal
from .conversation import Conversation

_Utf8 = codecs.getincrementaldecoder("utf-8")
_BEGIN_A_MESSAGE = (1, 2)  # the opcodes of text and binary
_VIOLATIONS: dict[int, CloseReason] = {
    CloseCode.INVALID_TEXT: CloseReason.NOT_UTF8,
    CloseCode.TOO_BIG: CloseReason.TOO_BIG,
}


class BridgeProtocol(WebSocketServerProtocol):
    """
    One socket.

    :ivar factory: A ``BridgeFactory``.
    """

    factory: Any
    conversation: Conversation | None = None
    is_page = False
    log = QuietLog(WebSocketServerProtocol.log)
    transport: Any
    current_frame: Any
    autoPingTimeoutCall: Any  # noqa: N815
    _extra_left: float = limits.EXTRA_FRAMES_BEFORE_HELLO
    _size: Size | None = None
    _utf8: codecs.IncrementalDecoder | None = None
    _next_turn: IDelayedCall | None = None
    _lingering: IDelayedCall | None = None

    def onOpen(self) -> None:
        """Begin the conversation."""
        self.conversation = Conversation(self.factory.context, self)
        # The HTTP channel this socket was made from has registered itself.
        self.transport.unregisterProducer()
        self.transport.registerProducer(self.conversation.send_queue, True)
        self.factory.opened(self)

    def dataReceived(self, data: bytes) -> None:
        """Accept bytes; Autobahn would first format a line for a debug log."""
        self.data += data
        self.consumeData()

    def consumeData(self) -> None:
        """Read frames; leave the rest for a later turn when there are many."""
        if self.state not in (self.STATE_OPEN, self.STATE_CLOSING):
            super().consumeData()
            return
        if self._next_turn is not None:
            return
        if not self._read_frames():
            self.transport.pauseProducing()
            self._next_turn = self.factory.context.clock.callLater(0, self._take_turn)

    def _read_frames(self) -> bool:
        """Read up to ``FRAMES_PER_TURN`` frames; return whether that is all."""
        count = self._read_short_texts()
        if not self.data and self.current_frame is None:
            return True
        # Autobahn's steps: the head of a frame is one, its payload another.
        for _ in range(2 * (limits.FRAMES_PER_TURN - count)):
            if self.failedByMe:
                self.data = b""
                return True
            if not self.processData() or self.state == self.STATE_CLOSED:
                return True
        return not self.data

    def _read_short_texts(self) -> int:
        """
        Read what most frames are, at a third of the cost: whole texts, not in pieces.

        Whatever else comes, or is wrong with one, is left for Autobahn to read.

        :return: How many there were.
        """
        if self.current_frame is not None or self.inside_message:
            return 0  # these bytes go on where others ended
        data, start, count = self.data, 0, 0
        try:
            while count < limits.FRAMES_PER_TURN and self.state == self.STATE_OPEN:
                found = parse_text_frame(data, start, self.maxMessagePayloadSize)
                if found is None:
                    break
                text, start = found
                count += 1
                if self.autoPingTimeoutCall is not None:
                    self._cancelAutoPingTimeoutCall()
                self._size = None
                self.onMessage(text, isBinary=False)
        finally:
            # A text that a handler failed with must not be read twice.
            self.data = data[start:] if start else data
        return count

    def send_piece(self, piece: bytes, first: bool, last: bool) -> None:
        """
        Write a piece of a text, unless the socket closes.

        :param first: Whether it is the first (RFC 6455, 5.4); so ``last``.
        """
        # sendMessage() would hold what we send to the limit on what we receive.
        if self.state == self.STATE_OPEN:
            self.transport.write(head(len(piece), first, last) + piece)

    def _take_turn(self) -> None:
        self._next_turn = None
        self.transport.resumeProducing()
        self.consumeData()

    def onFrameBegin(self) -> None:
        """
        Begin a frame.

        Before hello control frames and continuations are counted: pages send none.
        """
        super().onFrameBegin()
        if self.current_frame.opcode not in _BEGIN_A_MESSAGE:
            self._extra_left -= 1
            if self._extra_left < 0 and self.conversation is not None:
                self.failedByMe = True
                self.conversation.violated(CloseReason.HELLO_REQUIRED)

    def onMessageBegin(self, isBinary: bool) -> None:
        """Begin a message; a text is validated, and its values counted, as it comes."""
        super().onMessageBegin(isBinary)
        self._utf8 = None if isBinary else _Utf8()
        self._message, self._size = bytearray(), Size()

    def onFrameData(self, payload: bytes) -> Any:
        """Accept a piece of a frame, still masked."""
        frame: Any = self.current_frame
        end = self.current_frame_masker.pointer()
        if frame.mask is not None and payload:
            payload = masked(payload, frame.mask, end - len(payload))
        if frame.opcode <= 7 and not self.failedByMe and not self._is_text(payload):
            self._invalid_payload("not UTF-8")
        return super().onFrameData(payload)

    def onMessageFrameData(self, payload: bytes) -> None:
        """Keep a piece; Autobahn would keep each by itself, however short it is."""
        if self._size is not None and not self.failedByMe:
            self._message += payload
            self._size.feed(payload)

    def onMessageEnd(self) -> None:
        """End a message, which must not end within a character."""
        if not self.failedByMe and not self._is_text(b"", final=True):
            self._invalid_payload("ends within a character")
        self.message_data = [bytes(self._message)]
        self._message = bytearray()
        super().onMessageEnd()

    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        """Accept one message."""
        if self.state != self.STATE_OPEN or self.conversation is None:
            return  # it was sent before the peer knew that the socket closes
        if isBinary:
            self.conversation.violated(CloseReason.TEXT_ONLY)
        else:
            self.conversation.received(payload, self._size)

    def _is_text(self, payload: bytes, final: bool = False) -> bool:
        if self._utf8 is None:
            return True
        try:
            self._utf8.decode(payload, final)
        except UnicodeDecodeError:
            return False
        return True

    def sendCloseFrame(
        self,
        code: int | None = None,
        reasonUtf8: bytes | None = None,
        isReply: bool = False,
    ) -> None:
        """Send a close frame, after which nothing is sent."""
        if self.state != self.STATE_OPEN:
            return
        # A peer's own code is echoed, its reason is not.
        super().sendCloseFrame(code, None if isReply else reasonUtf8, isReply)
        if ITCPTransport.providedBy(self.transport):
            # Dropping a connection with something unread resets it, and a reset
            # overtakes the close frame.  So: send no more, and read for a while.
            self.unregisterProducer()
            self.transport.loseWriteConnection()

    def dropConnection(self, abort: bool = False) -> None:
        """End the connection; a reset only for a peer that did not close well."""
        if self.failedByMe and self.wasClean:
            self._linger()  # its last frame was a close frame, but a wrong one
        else:
            super().dropConnection(abort and not self.wasClean)

    def _closeConnection(self, abort: bool = False) -> None:
        super()._closeConnection(abort)
        if not abort:
            # Unsent data goes first, but a peer that does not read is not waited for.
            self._linger()

    def _linger(self) -> None:
        if self._lingering is None:
            self._lingering = self.factory.context.clock.callLater(
                limits.CLOSE_SECONDS, self.transport.abortConnection
            )

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Note the end."""
        for delayed in (self._next_turn, self._lingering):
            if delayed is not None and delayed.active():
                delayed.cancel()
        self.data, self._message = b"", bytearray()
        super().connectionLost(reason)

    def onPing(self, payload: bytes) -> None:
        """Answer a ping, unless the peer does not read."""
        if self.conversation is not None and not self.conversation.send_queue.paused:
            self.sendPong(payload)

    def onClose(self, wasClean: bool, code: int | None, reason: str | None) -> None:
        """End the conversation, if the handshake got that far."""
        if self.conversation is not None:
            self.factory.ended(self)
            self.conversation.ended()
            self.conversation = None

    def close_with(self, reason: CloseReason) -> None:
        if reason is CloseReason.SLOW_READER:
            # The close frame comes after what the peer has not read yet.
            self.closeHandshakeTimeout = limits.SLOW_CLOSE_SECONDS
        # sendClose() takes only 1000 and 3000 to 4999.
        if self.state == self.STATE_OPEN:
            self.sendCloseFrame(code=reason.code, reasonUtf8=reason.encode("ascii"))

    def welcomed(self) -> bool:
        self.maxMessagePayloadSize = limits.FRAME_BYTES
        self._extra_left = math.inf
        is_welcome: bool = self.factory.authenticated(self)
        return is_welcome

    @property
    def is_silent(self) -> bool:
        """Whether nothing has come before hello, not even a part of a frame."""
        begun = self.data or self.current_frame or self.inside_message
        return not begun and self._extra_left == limits.EXTRA_FRAMES_BEFORE_HELLO

    def evict(self) -> None:
        """Close without waiting for the peer."""
        if self.conversation is not None:
            self.conversation.close(CloseReason.TOO_MANY_SOCKETS)
        self.dropConnection()

    def failHandshake(
        self,
        reason: str,
        code: int = 400,
        responseHeaders: list[tuple[str, str]] | None = None,
    ) -> None:
        """Refuse a bad handshake; Autobahn's reason would repeat what was sent."""
        self.factory.handshakes_refused.add("WebSocket handshakes refused")
        error = bad_request("not a handshake of WebSocket 13")
        more = (
            (n.encode("ascii"), v.encode("ascii")) for n, v in responseHeaders or ()
        )
        self.sendData(last_refusal(error, more))
        self.dropConnection(abort=False)

    def _fail_connection(self, code: int = 1001, reason: str = "") -> None:
        """Close with a reason of ours where Autobahn would with its own."""
        if self.state == self.STATE_OPEN and self.conversation is not None:
            self.failedByMe = True
            self.conversation.violated(
                _VIOLATIONS.get(code, CloseReason.PROTOCOL_ERROR)
            )
        else:
            super()._fail_connection(code, reason)
