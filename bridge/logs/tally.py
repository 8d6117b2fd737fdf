"""Counts what is worth a log line, but not each a line of its own."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define

_SECONDS_BETWEEN = 1.0


@define
class Tally:
    """
    Counts, and says how many it were at most once a second.

    What is counted in the meantime is said with the next.

    :ivar _seconds: The time.
    :ivar _say: Takes how many there were since it was last called.
    """

    _seconds: Callable[[], float]
    _say: Callable[[int], None]
    _count: int = 0
    _next: float = float("-inf")

    def add(self, number: int) -> None:
        """Count ``number`` more."""
        self._count += number
        now = self._seconds()
        if now >= self._next:
            count, self._count = self._count, 0
            self._next = now + _SECONDS_BETWEEN
            self._say(count)
