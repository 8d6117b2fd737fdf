"""
Autobahn's framing (RFC 6455), changed where it is too slow or too patient.

Autobahn unmasks and validates byte by byte in Python, reads every frame that has come
before any other socket has its turn, and keeps reading after a violation.  Here a
piece of a frame is unmasked and validated at once, many frames are read over
several turns, and nothing is read after a violation.
"""

from __future__ import annotations

import codecs
from typing import Any

from autobahn.twisted.websocket import WebSocketServerProtocol
from twisted.internet.interfaces import IDelayedCall, IReactorTime, ITCPTransport
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure

from ...protocol.limits import CLOSE_SECONDS, FRAMES_PER_TURN
from ...websocket import SHORT_BYTES, QuietLog, head, masked, parse_text_frame

_Utf8 = codecs.getincrementaldecoder("utf-8")


class FrameCodec(WebSocketServerProtocol):
    """A server's end of one connection; needs what ``BridgeFactory`` sets."""

    log = QuietLog(WebSocketServerProtocol.log)
    transport: Any
    current_frame: Any
    inside_message: bool
    maxMessagePayloadSize: int  # noqa: N815 (Autobahn's)
    autoPingTimeoutCall: Any  # noqa: N815
    _utf8: codecs.IncrementalDecoder | None = None
    _message: bytearray
    _next_turn: IDelayedCall | None = None
    _lingering: IDelayedCall | None = None
    _written: list[bytes] | None = None

    @property
    def clock(self) -> IReactorTime:
        """The clock of this connection's timers."""
        clock: IReactorTime = self.factory.reactor
        return clock

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
        self._written = []
        try:
            all_read = self._read_frames()
        finally:
            self._flush()
            self._written = None
        if not all_read:
            self.transport.pauseProducing()
            self._next_turn = self.clock.callLater(0, self._take_turn)

    def _read_frames(self) -> bool:
        """Read up to ``FRAMES_PER_TURN`` frames; return whether that is all."""
        count = self._read_short_texts()
        if not self.data and self.current_frame is None:
            return True
        # Autobahn's steps: the head of a frame is one, its payload another.
        steps = 2 * FRAMES_PER_TURN - 2 * count
        for _ in range(steps):
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
            while count < FRAMES_PER_TURN and self.state == self.STATE_OPEN:
                found = parse_text_frame(data, start, self.maxMessagePayloadSize)
                if found is None:
                    break
                text, start = found
                count += 1
                if self.autoPingTimeoutCall is not None:
                    self._cancelAutoPingTimeoutCall()
                self.parse_text_frame(text)
        finally:
            # A text that a handler failed with must not be read twice.
            self.data = data[start:] if start else data
        return count

    def parse_text_frame(self, payload: bytes) -> None:
        """Accept a message that came as one frame, and is UTF-8."""
        raise NotImplementedError

    def send_piece(self, piece: bytes, first: bool, last: bool) -> None:
        """
        Write a piece of a text, with those of the same turn, unless the socket closes.

        :param first: Whether it is the first (RFC 6455, 5.4); so ``last``.
        """
        if self.state != self.STATE_OPEN:
            return
        # sendMessage() would hold what we send to the limit on what we receive.
        frame = head(len(piece), first, last) + piece
        if self._written is None or len(frame) > SHORT_BYTES:
            self._flush()
            self.transport.write(frame)
        else:
            self._written.append(frame)

    def _flush(self) -> None:
        if self._written:
            written, self._written = self._written, []
            self.transport.write(b"".join(written))

    def sendData(self, data: bytes, *rest: Any) -> None:
        """Write a control frame, or the end of the handshake, in its turn."""
        self._flush()
        super().sendData(data, *rest)

    def _take_turn(self) -> None:
        self._next_turn = None
        self.transport.resumeProducing()
        self.consumeData()

    def onMessageBegin(self, isBinary: bool) -> None:
        """Begin a message; a text is validated as it comes."""
        super().onMessageBegin(isBinary)
        self._utf8 = None if isBinary else _Utf8()
        self._message = bytearray()

    def onFrameData(self, payload: bytes) -> bool | None:
        """Accept a piece of a frame, still masked."""
        frame: Any = self.current_frame
        end = self.current_frame_masker.pointer()
        if frame.mask is not None and payload:
            payload = masked(payload, frame.mask, end - len(payload))
        if frame.opcode <= 7 and not self.failedByMe and not self._is_text(payload):
            self._invalid_payload("not UTF-8")
        going_on: bool | None = super().onFrameData(payload)
        return going_on

    def onMessageFrameData(self, payload: bytes) -> None:
        """Keep a piece; Autobahn would keep each by itself, however short it is."""
        if not self.failedByMe:
            self._message += payload

    def onMessageEnd(self) -> None:
        """End a message, which must not end within a character."""
        if not self.failedByMe and not self._is_text(b"", final=True):
            self._invalid_payload("ends within a character")
        self.message_data = [bytes(self._message)]
        self._message = bytearray()
        super().onMessageEnd()

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
            self._lingering = self.clock.callLater(CLOSE_SECONDS, self._abort)

    def _abort(self) -> None:
        self._lingering = None
        self.transport.abortConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Note the end."""
        for delayed in (self._next_turn, self._lingering):
            if delayed is not None:
                delayed.cancel()
        self._next_turn = self._lingering = None
        self.data, self._message = b"", bytearray()
        super().connectionLost(reason)
