"""All sockets of pages: which may be there, and closing them."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from autobahn.twisted.websocket import WebSocketServerFactory
from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger

from ...concurrency.timers import ThrottledCounter
from ...protocol import limits
from ...protocol.errors import CloseReason
from ..request import ALWAYS
from .conversation import Conversation, SharedContext
from .socket import BridgeProtocol

_log = Logger()
_UPGRADED = {
    name.decode("ascii"): value.decode("ascii")
    for name, value in ALWAYS.items()
    if name not in (b"connection", b"content-type")
}


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
            # ``BridgeProtocol`` does both.
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
