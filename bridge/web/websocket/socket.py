"""
The WebSocket of a conversation: every close has a code and a reason of ours.

Autobahn's classes have hundreds of attributes of their own; what is ours is in
``bridge.web.websocket.conversation``, where no name can collide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from autobahn.twisted.websocket import WebSocketServerFactory
from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger

from ...concurrency.timers import ThrottledCounter
from ...protocol import limits
from ...protocol.errors import CloseCode, CloseReason, bad_request
from ...protocol.strictjson import Size
from ..request import ALWAYS, last_refusal
from .conversation import Conversation, SharedContext
from .framing import FrameCodec

_log = Logger()
_UPGRADED = {
    name.decode("ascii"): value.decode("ascii")
    for name, value in ALWAYS.items()
    if name not in (b"connection", b"content-type")
}
_BEGIN_A_MESSAGE = (1, 2)  # the opcodes of text and binary
_VIOLATIONS: dict[int, CloseReason] = {
    CloseCode.INVALID_TEXT: CloseReason.NOT_UTF8,
    CloseCode.TOO_BIG: CloseReason.TOO_BIG,
}


class BridgeProtocol(FrameCodec):
    """One socket."""

    factory: BridgeFactory
    conversation: Conversation | None = None
    is_page = False
    _size: Size
    _extra_left: float = limits.EXTRA_FRAMES_BEFORE_HELLO

    def onOpen(self) -> None:
        """Begin the conversation."""
        self.conversation = Conversation(self.factory.context, self)
        transport: Any = self.transport
        # The HTTP channel this socket was made from has registered itself.
        transport.unregisterProducer()
        transport.registerProducer(self.conversation.send_queue, True)
        self.factory.opened(self)

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
        """Begin a message; its values are counted while it comes, not at its end."""
        super().onMessageBegin(isBinary)
        self._size = Size()

    def onMessageFrameData(self, payload: bytes) -> None:
        """Accept a piece of a message."""
        super().onMessageFrameData(payload)
        self._size.feed(payload)

    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        """Accept one message."""
        assert self.conversation is not None  # noqa: S101 (messages follow onOpen)
        if self.state != self.STATE_OPEN:
            return  # it was sent before the peer knew that the socket closes
        if isBinary:
            self.conversation.violated(CloseReason.TEXT_ONLY)
        else:
            self.conversation.received(payload, self._size)

    def parse_text_frame(self, payload: bytes) -> None:
        """Accept one message; see ``FrameCodec``."""
        assert self.conversation is not None  # noqa: S101 (messages follow onOpen)
        self.conversation.received(payload)

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
        return self.factory.authenticated(self)

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


def _note_refused(what: str, count: int) -> None:
    _log.info("{what}: {count}", what=what, count=count)


class BridgeFactory(WebSocketServerFactory):
    """Builds a ``BridgeProtocol`` for every socket, and keeps track of them."""

    protocol: Any = BridgeProtocol
    noisy = False

    def __init__(self, context: SharedContext) -> None:
        # Without a name, Autobahn would send its own, with its version.
        super().__init__(reactor=context.clock, server="", headers=_UPGRADED)
        # Autobahn's own timers run, roughly, on the global reactor.
        self._batched_timer = SimpleNamespace(call_later=context.clock.callLater)
        self.context = context
        self.handshakes_refused = ThrottledCounter(context.clock, _note_refused)
        self._sockets_waiting: dict[BridgeProtocol, None] = {}
        self._sockets_authenticated: set[BridgeProtocol] = set()
        self._closing: CloseReason | None = None
        self.setProtocolOptions(
            # A failure closes with a code, instead of dropping the connection.
            failByDrop=False,
            versions=[13],
            webStatus=False,
            maxMessagePayloadSize=limits.HELLO_FRAME_BYTES,
            openHandshakeTimeout=limits.HELLO_SECONDS,
            closeHandshakeTimeout=limits.CLOSE_SECONDS,
            echoCloseCodeReason=True,
            # ``FrameCodec`` does both.
            applyMask=False,
            utf8validateIncoming=False,
            autoPingInterval=limits.PING_SECONDS,
            autoPingTimeout=limits.PONG_SECONDS,
        )

    @property
    def is_full(self) -> bool:
        """Whether no further socket may be opened now."""
        return len(self._sockets_authenticated) >= limits.SOCKETS_AUTHENTICATED

    def opened(self, socket: BridgeProtocol) -> None:
        """
        Count a socket that awaits its ``hello``.

        Over the limit the oldest silent one of the older half closes, else the oldest
        of all: a new page has time for its hello, though all others have sent a byte.
        """
        self._sockets_waiting[socket] = None
        if self._closing is not None and socket.conversation is not None:
            socket.conversation.close(self._closing)
        if len(self._sockets_waiting) > limits.SOCKETS_AWAITING_HELLO:
            older = list(self._sockets_waiting)[: limits.SOCKETS_AWAITING_HELLO // 2]
            oldest = next((one for one in older if one.is_silent), older[0])
            del self._sockets_waiting[oldest]
            oldest.evict()

    def authenticated(self, socket: BridgeProtocol) -> bool:
        """Count a socket as authenticated, unless there are too many already."""
        if self.is_full:
            return False
        self._sockets_waiting.pop(socket, None)
        self._sockets_authenticated.add(socket)
        return True

    def ended(self, socket: BridgeProtocol) -> None:
        """Stop counting a socket."""
        self._sockets_waiting.pop(socket, None)
        self._sockets_authenticated.discard(socket)

    def call_waiting(self) -> None:
        """Make the calls that wait for their pace: later ones could save nothing."""
        for conversation in _conversations(self._sockets_authenticated):
            conversation.call_waiting()

    def close_all(self, reason: CloseReason) -> Deferred[Any]:
        """
        Close every socket, for ever: one that opens later closes at once.

        :return: Fires when they are closed; a peer that does not answer within
            ``CLOSE_SECONDS`` is dropped.
        """
        self._closing = reason
        closed: list[Deferred[Any]] = []
        sockets = *self._sockets_waiting, *self._sockets_authenticated
        for conversation in _conversations(sockets):
            closed.append(Deferred())
            conversation.on_close(closed[-1].callback)
            conversation.close(reason)
        return DeferredList(closed)

    def close_paired(self, reason: CloseReason) -> None:
        """Close the sockets that have shown the token; one that waits may yet do so."""
        for conversation in _conversations(self._sockets_authenticated):
            conversation.close(reason)


def _conversations(sockets: Iterable[BridgeProtocol]) -> list[Conversation]:
    return [one.conversation for one in sockets if one.conversation is not None]
