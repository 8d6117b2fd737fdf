"""What a timer does later: things that expire, and events that share a log line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

from attrs import field
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ..classes import define

_T = TypeVar("_T")


@define(eq=False, repr=False)
class Expiring(Generic[_T]):
    """
    What was used lately, in that order; one timer for all.

    :ivar seconds: How long each is kept.
    :ivar drop: Called with what expired.
    """

    _clock: IReactorTime
    _seconds: float
    _drop: Callable[[_T], None]
    _expiry: dict[_T, float] = field(factory=dict, init=False)
    _sweeping: IDelayedCall | None = field(default=None, init=False)

    def __iter__(self) -> Iterator[_T]:
        """List what is kept, the last used first."""
        return reversed(self._expiry)

    def __contains__(self, item: object) -> bool:
        """Whether it is kept."""
        return item in self._expiry

    def keep(self, item: _T, at_most: int | None = None) -> None:
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

    def take(self, item: _T) -> None:
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
