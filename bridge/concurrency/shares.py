"""
Places that callers share: each has its part, some are left for who comes next, the
others wait in turn, and a holder that goes gives everything back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, Generic, Protocol, TypeVar

from attrs import field
from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.python.failure import Failure

from ..classes import define
from ..protocol.errors import BridgeError, shutting_down, unavailable

T = TypeVar("T")

_GONE: Final[Any] = object()
"""The holder of what goes on when its own has gone."""


class Holder(Protocol):
    """Who takes places: a page, for example.  Equal to no other."""

    @property
    def is_page(self) -> bool:
        """Whether it is a page; else it is a command or another program."""

    def on_close(self, call: Callable[[Any], None]) -> None:
        """
        Call ``call`` with the holder when it has gone; at once if it has already.

        The same function is called once, however often it was passed.
        """

    def drained(self) -> Deferred[None]:
        """Return what fires when the holder has read what it was sent, or has gone."""


@define(eq=False, repr=False)
class Place:
    """
    A place that is waited for, then taken, then given back: ``async with`` it.

    :ivar holder: Who it is for; ``None`` is one holder as well, which never goes.
    :ivar reads: Whether what is done there may end when its holder goes.  Without
        effects nothing is lost with it.
    :ivar end: Ends what is done there, once it is taken.
    :ivar why: Why it was ended, if it was.
    """

    _shares: Shares
    holder: Holder | None
    reads: bool
    end: Callable[[], object] = lambda: None
    why: BridgeError | None = None
    _turn: Deferred[None] = field(factory=Deferred)

    def stop(self, why: BridgeError) -> None:
        """Wait no more, or end what is done here."""
        if self.why is not None:
            return
        self.why = why
        if self._turn.called:
            self.end()
        else:
            self._turn.errback(why)

    def begin(self) -> None:
        """Stop waiting: it is taken."""
        self._turn.callback(None)

    async def drained(self) -> None:
        """
        Keep the place, its work done, until the holder reads; or until it is stopped.

        Large answers that are ready at once wait so, and don't pile up behind a reader.
        """
        if self.holder not in (None, _GONE) and self.why is None:
            drained = self.holder.drained()
            self.end = drained.cancel
            with suppress(CancelledError):
                await drained

    async def __aenter__(self) -> Place:
        """
        Wait for the place.

        :raise BridgeError: It was stopped meanwhile.
        """
        try:
            await self._turn
        except BaseException:
            self._shares.give_back(self)
            raise
        if self.why is not None:
            self._shares.give_back(self)
            raise self.why
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        """
        Give it back.

        :raise BridgeError: What was done here has failed since it was stopped.
        """
        self._shares.give_back(self)
        if error is not None and self.why is not None:
            raise self.why from None


@define(eq=False, repr=False)
class Shares:
    """
    ``places`` places, of which a holder takes another while more are free than it has.

    So one has half of them at most, and the few that want many leave some to the next.
    It goes to the holder that has fewest; of equals, to who has waited longest.

    :ivar what: What is done there, for messages: a plural.
    :ivar waiting: How many may wait for a place.
    :ivar waiting_each: How many of one holder.
    """

    what: str
    places: int
    waiting: int
    waiting_each: int
    _taken: list[Place] = field(factory=list)
    _queue: list[Place] = field(factory=list)
    _handing_out: bool = False
    _closed: bool = False
    _ended: list[Deferred[None]] = field(factory=list)

    def place(self, holder: Holder | None, *, reads: bool = True) -> Place:
        """
        Ask for a place.

        :raise BridgeError: ``unavailable``: too many wait already, or ``close`` was
            called.
        """
        if self._closed:
            raise shutting_down()
        place = Place(self, holder, reads)
        self._queue.append(place)
        self._hand_out()
        if place in self._queue and (
            len(self._queue) > self.waiting
            or _count(self._queue, holder) > self.waiting_each
        ):
            self._queue.remove(place)
            raise unavailable(f"too many {self.what} wait already")
        if holder is not None:
            holder.on_close(self.leave)
        return place

    def leave(self, holder: Holder) -> None:
        """
        Drop what waits for a holder that has gone, and end what only reads.

        The rest goes on.  All who have gone are one holder: of more places than that
        can have, those taken first are ended.
        """
        gone = unavailable("who asked for this has gone")
        for place in (*self._queue, *self._taken):
            if place.holder is not holder:
                continue
            if place.reads or place in self._queue:
                place.stop(gone)
            else:
                place.holder = _GONE
        left = [place for place in self._taken if place.holder is _GONE]
        while len(left) > (self.places + 1) // 2:
            left.pop(0).stop(gone)

    def close(self) -> Deferred[None]:
        """
        Hand out no more places, and end what is done in those that are taken.

        :return: Fires when all are given back.
        """
        self._closed = True
        ended: Deferred[None] = Deferred()
        self._ended.append(ended)
        for place in (*self._queue, *self._taken):
            place.stop(shutting_down())
        self._note_end()
        return ended

    def give_back(self, place: Place) -> None:
        """Take a place, or what waits for one, off its holder."""
        (self._taken if place in self._taken else self._queue).remove(place)
        self._hand_out()
        self._note_end()

    def _hand_out(self) -> None:
        """Hand out what is free; one whose work ends at once hands out no other."""
        if self._handing_out:
            return
        self._handing_out = True
        while (place := self._next()) is not None:
            self._queue.remove(place)
            self._taken.append(place)
            place.begin()
        self._handing_out = False

    def _next(self) -> Place | None:
        if not self._queue:
            return None
        taken, first = min(
            ((_count(self._taken, place.holder), place) for place in self._queue),
            key=lambda pair: pair[0],
        )
        return first if taken < self.places - len(self._taken) else None

    def _note_end(self) -> None:
        if not (self._taken or self._queue):
            ended, self._ended = self._ended, []
            for waiting in ended:
                waiting.callback(None)


def _count(places: list[Place], holder: Holder | None) -> int:
    return sum(place.holder is holder for place in places)


@define(eq=False)
class SharedRuns(Generic[T]):
    """One run of a function at a time: all requests during it share the next one."""

    _run: Callable[[], Awaitable[T]]
    _lock: DeferredLock = field(factory=DeferredLock)
    _waiters: list[tuple[Deferred[T], Callable[[], object]]] = field(
        factory=list, init=False
    )

    def ask(self, begun: Callable[[], object] = lambda: None) -> Deferred[T]:
        """
        Return what fires with the result of a run that has yet to begin.

        :param begun: Called when it begins.
        """
        waiter: Deferred[T] = Deferred()
        self._waiters.append((waiter, begun))
        if len(self._waiters) == 1:  # else a run for these waits for its turn already
            Deferred.fromCoroutine(self._run_for_waiters())
        return waiter

    async def _run_for_waiters(self) -> None:
        async with self._lock:
            waiters, self._waiters = self._waiters, []
            result: T | Failure
            try:
                for _, begun in waiters:
                    begun()
                result = await self._run()
            except Exception:  # noqa: BLE001
                result = Failure()
            for waiter, _ in waiters:
                waiter.callback(result)
