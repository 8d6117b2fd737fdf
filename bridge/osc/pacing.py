"""The rate of pushes of received messages: the newest value, not too often."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from attrs import field
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ..classes import define
from ..protocol import limits
from .packets import Message

_SPACING = 1 / limits.OSC_ADDRESS_PUSHES_PER_SECOND
_EARLY = 1e-9  # times are sums of floats: a billionth early is on time


@define(eq=False, repr=False)
class Pacing:
    """
    Passes messages on, within what any second and any address may have.

    What comes too fast waits, and a newer message to the same address replaces it;
    so the last value is always pushed, at most one turn later.

    :ivar push: Where messages go.
    :ivar dropped: How many messages were never pushed.
    """

    _clock: IReactorTime
    push: Callable[[Message], None]
    dropped: int = 0
    _pushed: deque[tuple[float, str]] = field(factory=deque)
    _last: dict[str, float] = field(factory=dict)
    _waiting: dict[str, Message] = field(factory=dict)
    _turn: IDelayedCall | None = None

    def put(self, message: Message) -> None:
        """Push a message now, or later, or a newer one instead."""
        address = message.address
        if address in self._waiting:
            self.dropped += 1
            self._waiting[address] = message
        elif len(self._waiting) < self._room() and self._may(address):
            self._send(message)
        elif len(self._waiting) >= limits.OSC_WAITING_ADDRESSES:
            self.dropped += 1
        else:
            self._waiting[address] = message
            self._wait()

    def stop(self) -> None:
        """Push nothing more; what waits is dropped."""
        self.dropped += len(self._waiting)
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None

    def _wait(self) -> None:
        if self._turn is None:
            self._turn = self._clock.callLater(_SPACING, self._take_turn)

    def _take_turn(self) -> None:
        self._turn = None
        for address in list(self._waiting):
            if not self._room():
                break
            if self._may(address):
                self._send(self._waiting.pop(address))
        if self._waiting:
            self._wait()

    def _send(self, message: Message) -> None:
        now = self._clock.seconds()
        self._pushed.append((now, message.address))
        self._last[message.address] = now
        self.push(message)

    def _room(self) -> int:
        """How many more pushes there may be in this second."""
        now = self._clock.seconds()
        while self._pushed and self._pushed[0][0] <= now - 1.0 + _EARLY:
            when, address = self._pushed.popleft()
            if self._last[address] == when:
                del self._last[address]
        return limits.OSC_PUSHES_PER_SECOND - len(self._pushed)

    def _may(self, address: str) -> bool:
        """Whether the address may be pushed again."""
        last = self._last.get(address)
        return last is None or self._clock.seconds() >= last + _SPACING - _EARLY
