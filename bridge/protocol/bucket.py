"""The token bucket: how often a caller may ask."""

from __future__ import annotations

from collections.abc import Callable

from attrs import field

from ..classes import define


@define(eq=False, repr=False)
class TokenBucket:
    """
    Holds ``burst`` tokens and regains ``rate`` of them a second.

    Nothing ticks: the level is computed from the time when it is asked for.  With
    patience a token may be taken ahead of time; later callers wait behind it, so
    calls start in the order in which they took their tokens.

    :ivar now: The clock, in seconds; tests pass ``Clock().seconds``.
    """

    rate: float
    burst: int
    now: Callable[[], float]
    _level: float = field(init=False)
    _as_of: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._level = float(self.burst)
        self._as_of = self.now()

    def wait(self) -> float:
        """Seconds until the next token could be used; 0.0 when there is one."""
        now = self.now()
        level = self._level + (now - self._as_of) * self.rate
        self._level = level if level < self.burst else float(self.burst)
        self._as_of = now
        # Tokens come by tiny float steps: a billionth short counts as one.
        missing = 1.0 - 1e-9 - self._level
        return missing / self.rate if missing > 0.0 else 0.0

    @property
    def is_full(self) -> bool:
        """Whether no token was taken for a while."""
        self.wait()
        return self._level >= self.burst

    def take(self, patience: float = 0.0) -> float | None:
        """
        Take one token.

        :param patience: How many seconds the caller may wait for it.
        :return: The seconds to wait before using it, or ``None`` when that is
            more than the patience; then nothing was taken.
        """
        wait = self.wait()
        if wait > patience:
            return None
        self._level -= 1.0
        return wait
