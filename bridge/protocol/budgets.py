"""How often a caller may ask: the token bucket, and those of a socket."""

from __future__ import annotations

import math
from collections.abc import Callable

from attrs import field

from ..classes import define
from . import limits
from .errors import BridgeError, Code
from .frames import Request


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


@define(eq=False, repr=False)
class Budgets:
    """
    What one authenticated socket may still do.

    :ivar rate: Requests a second.
    :ivar burst: Requests at once.
    :ivar now: The clock, in seconds.
    :ivar light_methods: The ``(service, method)`` pairs that draw from a budget of
        their own: reads from memory, of which a page with sixty plugins makes more
        than a hundred at its start, and what it calls as fast as a controller moves.
    """

    rate: float
    burst: int
    now: Callable[[], float]
    light_methods: frozenset[tuple[str, str]] = frozenset()
    _requests: TokenBucket = field(init=False)
    _light: TokenBucket = field(init=False)
    _logs: TokenBucket = field(init=False)
    _flood_since: float = -math.inf
    _last_drop: float = -math.inf

    def __attrs_post_init__(self) -> None:
        self._requests = TokenBucket(self.rate, self.burst, self.now)
        # A higher rate that was configured holds here as well.
        self._light = TokenBucket(
            max(limits.LIGHT_PER_SECOND, self.rate),
            max(limits.LIGHT_BURST, self.burst),
            self.now,
        )
        self._logs = TokenBucket(
            limits.LOG_FRAMES_PER_SECOND, limits.LOG_FRAMES_BURST, self.now
        )

    def request(self, request: Request) -> float:
        """
        Pace a request.

        :return: In how many seconds it may be made.
        :raise BridgeError: 429: that would be too long.
        """
        light = (request.service, request.method) in self.light_methods
        bucket = self._light if light else self._requests
        after = bucket.take(limits.PACED_SECONDS)
        if after is None:
            raise _too_many(bucket)
        return after

    def refused(self, error: BridgeError) -> BridgeError:
        """
        Return the answer to what is refused, by default ``error``.

        It costs a request: it had to be read as well.
        """
        paid = self._requests.take(limits.PACED_SECONDS) is not None
        return error if paid else _too_many(self._requests)

    def logs(self) -> bool:
        """Whether a frame of log records may be written; else it is to be dropped."""
        if self._logs.take() is not None:
            return True
        now = self.now()
        if now - self._last_drop > 1.0:
            self._flood_since = now
        self._last_drop = now
        return False

    @property
    def log_flood(self) -> bool:
        """Whether frames of log records have been dropped for too long."""
        return self._last_drop - self._flood_since >= limits.LOG_FLOOD_SECONDS


def _too_many(bucket: TokenBucket) -> BridgeError:
    seconds = max(1, math.ceil(bucket.wait() - limits.PACED_SECONDS))
    return BridgeError(
        Code.RATE_LIMITED, "too many requests; wait and ask again", seconds
    )
