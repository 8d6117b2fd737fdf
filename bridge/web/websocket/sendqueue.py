"""
The bounded queue of what is to be sent to one page.

Responses always wait their turn.  Pushes do not pile up for a page that reads
slowly: the oldest of those that report a moment are dropped and counted, and of
those that report the present state only the newest before each response is kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from attrs import field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

from ...classes import define
from ...protocol.limits import PIECE_BYTES, QUEUED_FRAMES, QUEUED_PUSHES, UNSENT_BYTES

LATEST = frozenset({"plugins", "build"})
"""Events of which only the newest matters."""

AWAITED = frozenset({"remote"})
"""Events that wait for an answer: kept, as responses are."""


@implementer(IPushProducer)
@define(eq=False, repr=False)
class SendQueue:
    """
    Sends at once while the peer reads, and queues while it does not.

    :ivar send: Puts one piece of a text on the wire: whether it is the first, and
        whether it is the last, come after it.
    :ivar overflow: Called once, when more is unsent than can be kept; after that
        nothing is.
    :ivar dropped: How many pushes were never sent.
    :ivar replaced: How many were replaced by a newer push of the same event.
    :ivar paused: Whether the peer does not read.
    """

    send: Callable[[bytes, bool, bool], None]
    overflow: Callable[[], None]
    dropped: int = 0
    replaced: int = 0
    paused: bool = False
    _stopped: bool = False
    _bytes: int = 0
    _pushes: int = 0
    _begun: bytes = b""
    _position: int = 0
    _queue: deque[tuple[str | None, bytes]] = field(factory=deque)
    _drained: deque[Deferred[None]] = field(factory=deque)

    @property
    def unsent(self) -> int:
        """How many bytes wait until the peer reads."""
        if not self.paused:
            return 0
        return self._bytes + max(0, len(self._begun) - self._position)

    def put(self, text: bytes, event: str | None = None) -> None:
        """
        Send ``text`` now or when the peer reads again.

        :param event: Names the event when ``text`` is a push.
        """
        if self._stopped:
            return
        if not self.paused:
            if len(text) <= PIECE_BYTES:
                self.send(text, True, True)
            else:
                self._begin(text)
            return
        if event in LATEST:
            # What was put before a response may be of its operation: it stays there.
            kinds = [queued for queued, _ in self._queue]
            since = len(kinds) - kinds[::-1].index(None) if None in kinds else 0
            self.replaced += self._remove(lambda queued: queued == event, since)
        elif event is not None and self._pushes >= QUEUED_PUSHES:
            self.dropped += self._remove(lambda queued: queued not in LATEST | AWAITED)
        self._queue.append((event, text))
        self._bytes += len(text)
        self._pushes += event is not None
        if self._bytes > UNSENT_BYTES or len(self._queue) > QUEUED_FRAMES:
            self.stopProducing()
            self.overflow()

    def pauseProducing(self) -> None:
        """Keep what comes: the peer does not read; called by the transport."""
        self.paused = True

    def resumeProducing(self) -> None:
        """Send what was kept, as far as the peer takes it: it reads again."""
        self.paused = False
        self._go_on()
        while self._queue and not self.paused:
            event, text = self._queue.popleft()
            self._bytes -= len(text)
            self._pushes -= event is not None
            self._begin(text)
        self._note_drained()

    def drained(self) -> Deferred[None]:
        """
        Return what fires when the peer has read all, or nothing more will be sent.

        Of several one fires at a time: what one then puts, the next waits for.
        """
        drained: Deferred[None] = Deferred()
        self._drained.append(drained)
        self._note_drained()
        return drained

    def finish(self) -> None:
        """Send at once what is left of a text that was begun: a close comes next."""
        rest, self._begun = self._begun[self._position :], b""
        if rest:
            self.send(rest, False, True)

    def stopProducing(self) -> None:
        """Forget what was kept, and keep nothing more."""
        self._stopped = True
        self._queue.clear()
        self._begun = b""
        self._bytes = self._pushes = 0
        self._note_drained()

    def _note_drained(self) -> None:
        while self._drained and (self._stopped or not self.paused):
            self._drained.popleft().callback(None)

    def _begin(self, text: bytes) -> None:
        self._begun, self._position = text, 0
        self._go_on()

    def _go_on(self) -> None:
        while self._begun and not self.paused:
            text, start = self._begun, self._position
            self._position = end = start + PIECE_BYTES
            last = end >= len(text)
            if last:
                self._begun = b""
            self.send(text[start:end], start == 0, last)

    def _remove(self, unwanted: Callable[[str], bool], since: int = 0) -> bool:
        """Remove the oldest push that is ``unwanted``, from a place in the queue on."""
        for index, (event, text) in enumerate(self._queue):
            if index >= since and event is not None and unwanted(event):
                del self._queue[index]
                self._bytes -= len(text)
                self._pushes -= 1
                return True
        return False
