"""Counts events that share a log line."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ..classes import define

_SECONDS_BETWEEN = 1.0


@define(eq=False, repr=False)
class ThrottledCounter:
    """
    Counts, and reports the count at most once a second.

    Counts in between are reported when that second is over.

    :ivar _report: Called with the count since its last call.
    """

    _clock: IReactorTime
    _report: Callable[[int], None]
    _count: int = 0
    _next: float = float("-inf")
    _later: IDelayedCall | None = None
    _closed: bool = False

    def add(self, number: int) -> None:
        """Count ``number`` more."""
        self._count += number
        wait = self._next - self._clock.seconds()
        if wait <= 0 or self._closed:
            self.flush()
        elif self._later is None:
            self._later = self._clock.callLater(wait, self.flush)

    def close(self) -> None:
        """Report what was not reported yet; later counts are reported at once."""
        self._closed = True
        self.flush()

    def flush(self) -> None:
        """Report now what was not reported yet."""
        if self._later is not None and self._later.active():
            self._later.cancel()
        self._later = None
        count, self._count = self._count, 0
        self._next = self._clock.seconds() + _SECONDS_BETWEEN
        if count:
            self._report(count)
