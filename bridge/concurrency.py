"""
What goes on beside the reactor, in turn, and later.

Pools of threads are for work that blocks.  Of places that callers share, each has its
part, some are left for who comes next, the others wait in turn, and a holder that goes
gives everything back.  A timer ends what has expired, and reports what was counted.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

from attrs import field
from twisted.internet.defer import CancelledError, Deferred, DeferredLock, fail
from twisted.internet.interfaces import (
    IDelayedCall,
    IReactorFromThreads,
    IReactorTime,
)
from twisted.internet.threads import deferToThreadPool
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from .classes import define
from .protocol.errors import BridgeError, forget_traceback, shutting_down, unavailable

T = TypeVar("T")

InThread = Callable[..., Deferred[Any]]
"""Calls a function, with the arguments after it, in a thread; see ``Pool.call``."""

NO_THREAD: Final = "the system has no room for another thread; end other programs"

Check = Callable[[], None]
"""Raises when the work in a thread is to end."""


async def settled(work: Deferred[T], stop: Callable[[], None]) -> T:
    """
    Wait for work to end, even when cancelled meanwhile.

    :param stop: Called on cancellation, to make the end come sooner.
    :raise CancelledError: It was cancelled meanwhile; the result is lost.
    """
    outcome: list[T | Failure] = []
    waiting: Deferred[None] = Deferred()
    cancelled: CancelledError | None = None

    def end(result: T | Failure) -> None:
        outcome.append(result)
        waiting.callback(None)

    work.addBoth(end)
    while not outcome:
        try:
            await waiting
        except CancelledError as e:
            cancelled = e
            waiting = Deferred()
            stop()
    result = outcome[0]
    if cancelled is not None:
        if isinstance(result, Failure):
            forget_traceback(result.value)
        raise cancelled
    if isinstance(result, Failure):
        result.raiseException()
    return result


async def stoppable(in_thread: InThread, work: Callable[[Check], T]) -> T:
    """
    Call ``work`` in a thread, and wait until it has ended even when cancelled; one that
    waits for a thread ends at once then.

    :param work: Calls what it receives now and then, which raises once this was
        cancelled.
    :return: What ``work`` returns.
    :raise CancelledError: See ``settled``.
    """
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise CancelledError

    begun = threading.Event()

    def begin() -> T:
        begun.set()
        check()
        return work(check)

    working = in_thread(begin)

    def end() -> None:
        stop.set()
        if not begun.is_set():
            working.cancel()  # should it begin now, it ends at its first check

    return await settled(working, end)


@define(eq=False, repr=False)
class Pool:
    """
    At most ``size`` threads, made when they are first needed.

    Settings and log lines have a pool of their own, so that neither waits for a
    clone that takes two minutes.
    """

    _reactor: IReactorFromThreads
    _name: str
    _size: int
    _pool: ThreadPool = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._pool = ThreadPool(0, self._size, self._name)

    def start(self) -> None:
        """Start working; earlier calls wait until then."""
        self._pool.start()

    def stop(self) -> None:
        """Finish what was begun, and end the threads.  Blocks."""
        self._pool.stop()

    def call(self, f: Callable[..., T], *args: Any, **kwargs: Any) -> Deferred[T]:
        """
        Call ``f`` in a thread.

        :return: Fires with what ``f`` returns or raises; fails with ``BridgeError``,
            ``unavailable``: the system has no room for another thread, and none is
            alive that will have time for it.
        """
        call = partial(deferToThreadPool, self._reactor, self._pool, f, *args, **kwargs)
        try:
            calling: Deferred[T] = call()
        except RuntimeError:
            # Twisted would wait at the end for what did not start.
            self._pool.threads[:] = [one for one in self._pool.threads if one.ident]
            if not self._pool.workers:
                return fail(unavailable(NO_THREAD))
            self._pool.max = self._pool.workers  # so it starts none, but lets it wait
            calling = call()
            self._pool.max = self._size
        return calling.addErrback(_out_of_its_thread)


def _out_of_its_thread(failure: Failure) -> Failure:
    # Twisted keeps it in a frame of its own traceback: a cycle, with all that is there.
    failure.tb = None
    return Failure(failure.value)


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


@define(eq=False, repr=False)
class Expiring(Generic[T]):
    """
    What was used lately, in that order; one timer for all.

    :ivar seconds: How long each is kept.
    :ivar drop: Called with what expired.
    """

    _clock: IReactorTime
    _seconds: float
    _drop: Callable[[T], None]
    _expiry: dict[T, float] = field(factory=dict, init=False)
    _sweeping: IDelayedCall | None = field(default=None, init=False)

    def __iter__(self) -> Iterator[T]:
        """List what is kept, the last used first."""
        return reversed(self._expiry)

    def __contains__(self, item: object) -> bool:
        """Whether it is kept."""
        return item in self._expiry

    def keep(self, item: T, at_most: int | None = None) -> None:
        """
        Keep ``item`` from now on.

        :param at_most: How many to keep; the oldest give way.
        """
        self._expiry.pop(item, None)
        while at_most is not None and len(self._expiry) >= at_most:
            self._drop_oldest()
        self._expiry[item] = self._clock.seconds() + self._seconds
        if self._sweeping is None:
            self._sweep()

    def take(self, item: T) -> None:
        """Keep ``item`` no longer, without dropping it."""
        del self._expiry[item]

    def close(self) -> None:
        """Drop them all."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        while self._expiry:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        oldest = next(iter(self._expiry))
        del self._expiry[oldest]
        self._drop(oldest)

    def _sweep(self) -> None:
        """Drop what has expired, and wait for the next."""
        self._sweeping = None
        while self._expiry:
            wait = next(iter(self._expiry.values())) - self._clock.seconds()
            if wait > 0:
                self._sweeping = self._clock.callLater(wait, self._sweep)
                return
            self._drop_oldest()


_SECONDS_BETWEEN: Final = 1.0


@define(eq=False, repr=False)
class ThrottledCounter:
    """
    Counts, and reports the counts at most once a second.

    Counts in between are reported when that second is over.

    :ivar _report: Called with each kind, and its count since the last call.
    """

    _clock: IReactorTime
    _report: Callable[[str, int], None]
    _counts: Counter[str] = field(factory=Counter, init=False)
    _waiting: IDelayedCall | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)

    def add(self, kind: str, number: int = 1) -> None:
        """Count ``number`` more of a kind."""
        self._counts[kind] += number
        if self._waiting is None:
            self._report_counts()

    def close(self) -> None:
        """Report what was not reported yet; later counts are reported at once."""
        self._closed = True
        if self._waiting is not None:
            self._waiting.cancel()
        self._report_counts()

    def _report_counts(self) -> None:
        self._waiting = None
        counts, self._counts = self._counts, Counter()
        if counts and not self._closed:
            self._waiting = self._clock.callLater(_SECONDS_BETWEEN, self._report_counts)
        for kind, count in counts.items():
            self._report(kind, count)
