"""The rate of pushes of received messages: the newest value, not too often."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import inf
from typing import Final

from attrs import field
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ..classes import define
from ..protocol import limits
from .packets import Message

_SPACING = 1 / limits.OSC_ADDRESS_PUSHES_PER_SECOND
_EARLY = 1e-9  # times are sums of floats: a billionth early is on time
_CHANGE: Final = "/avatar/change"
_CHANGES_WAITING: Final = 2  # the first keeps its place, so that it has its turn


@define(eq=False, repr=False)
class Pacing:
    """
    Passes messages on, within what any second and any address may have.

    What comes too fast waits, and a newer message to the same address replaces it;
    so the last value is always pushed, at most one turn later.  ``/avatar/change`` is
    neither overtaken nor followed by what came before it: the values that came before
    are those of another avatar, which a page forgets.

    :ivar push: Where messages go.
    :ivar dropped: How many messages were never pushed.
    """

    _clock: IReactorTime
    push: Callable[[Message], None]
    dropped: int = 0
    _pushed: deque[tuple[float, str]] = field(factory=deque)
    _last: dict[str, float] = field(factory=dict)
    # By address, who waits longest first; each with how many changes had come.
    _waiting: dict[str, tuple[int, Message]] = field(factory=dict)
    _changes: list[tuple[int, Message]] = field(factory=list)
    _came: int = 0
    _turn: IDelayedCall | None = None

    def put(self, message: Message) -> None:
        """Push a message now, or later, or a newer one instead."""
        address, waiting = message.address, len(self._waiting)
        is_change = address == _CHANGE
        is_first = not (self._changes or (is_change and waiting))
        if address in self._waiting:
            self.dropped += 1
            self._waiting[address] = self._came, message
        elif is_first and waiting < self._room() and self._may(address):
            self._send(message)
        elif is_change:
            self._put_change(message)
        elif waiting >= limits.OSC_WAITING_ADDRESSES:
            self.dropped += 1
        else:
            self._waiting[address] = self._came, message
            self._wait()

    def _put_change(self, message: Message) -> None:
        if len(self._changes) == _CHANGES_WAITING:
            del self._changes[-1]
            self.dropped += 1
        self._came += 1
        self._changes.append((self._came, message))
        self._wait()

    def stop(self) -> None:
        """Push nothing more; what waits is dropped."""
        self.dropped += len(self._waiting) + len(self._changes)
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None

    def _wait(self) -> None:
        if self._turn is None:
            self._turn = self._clock.callLater(_SPACING, self._take_turn)

    def _take_turn(self) -> None:
        self._turn = None
        while not self._push_some() and self._room() and self._may(_CHANGE):
            self._send(self._changes.pop(0)[1])
        if self._waiting or self._changes:
            self._wait()

    def _push_some(self) -> bool:
        """
        Push what came before the first change that waits, as far as it may be.

        :return: Whether no change is next.
        """
        until = self._changes[0][0] if self._changes else inf
        before = [one for one, (came, _) in self._waiting.items() if came < until]
        pushed = 0
        for address in before:
            if not self._room():
                break
            if self._may(address):
                self._send(self._waiting.pop(address)[1])
                pushed += 1
        return pushed < len(before) or not self._changes

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
