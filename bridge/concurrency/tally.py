"""Counts what is worth a log line, but not each a line of its own."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define
from twisted.internet.interfaces import IDelayedCall, IReactorTime

_SECONDS_BETWEEN = 1.0


@define
class Tally:
    """
    Counts, and says how many it were at most once a second.

    What is counted in the meantime is said when that second is over.

    :ivar _report: Takes how many there were since it was last called.
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
        """Say what was not said yet; what is counted from now on is said at once."""
        self._closed = True
        self.flush()

    def flush(self) -> None:
        """Say now what was not said yet."""
        if self._later is not None and self._later.active():
            self._later.cancel()
        self._later = None
        count, self._count = self._count, 0
        self._next = self._clock.seconds() + _SECONDS_BETWEEN
        if count:
            self._report(count)
