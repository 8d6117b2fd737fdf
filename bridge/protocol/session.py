"""
The socket session: what a page may do before and after ``hello``.

Rule 1: what a frame leads to is decided in this file, but for what depends on others
or on memory: too many sockets, too much unread, a log that is behind.  Rule 2: no I/O
happens here.  What happened goes in as a method call; what must be done comes out as
a list of effects, which ``bridge.web.websocket.conversation`` carries out in order.

The driver, not the machine, compares the token: it calls ``hello_accepted`` or
``hello_refused``.  Only the *authenticated* state has budgets (they are that
state's data), so nothing can be dispatched before ``welcome``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from attrs import field

from ..classes import define, frozen
from . import limits
from .bucket import TokenBucket
from .errors import BridgeError, CloseReason, Code, bad_request
from .frames import Logs, RefusedFrame, Request


@frozen
class Welcome:
    """Send ``welcome``, and push events from now on."""


@frozen
class Close:
    """Close the socket."""

    reason: CloseReason


@frozen
class CountRefusedHello:
    """Take one token from the bucket of requests: a failed hello costs one."""


@frozen
class Dispatch:
    """
    Call the method the request names.

    :ivar after: In this many seconds, or after those of its namespace that wait.
    """

    request: Request
    after: float


@frozen
class Refuse:
    """
    Answer with an error.

    :ivar id: The request to answer; ``None`` pushes an event to this socket alone.
    :ivar evaluation: The one that ends with this error, if this page was asked for it.
    """

    id: str | None
    error: BridgeError
    evaluation: str | None = None


@frozen
class WriteLogs:
    """Write log records to the log file."""

    records: Any


@frozen
class DropLogs:
    """
    Count log records that are not written.

    :ivar why: A text of ours.
    """

    records: int
    why: str


Effect = Welcome | Close | CountRefusedHello | Dispatch | Refuse | WriteLogs | DropLogs


@frozen
class Rates:
    """
    The budgets of each socket of a daemon.

    :ivar rate: Requests a second.
    :ivar burst: Requests at once.
    :ivar now: The clock, in seconds.
    :ivar light: The ``(service, method)`` pairs that draw from a budget of their
        own: reads from memory, of which a page with sixty plugins makes more than a
        hundred at its start, and what it calls as fast as a controller moves.
    """

    rate: float
    burst: int
    now: Callable[[], float]
    light: frozenset[tuple[str, str]] = frozenset()


@define(eq=False, repr=False)
class Budgets:
    """What one authenticated socket may still do."""

    _rates: Rates
    _requests: TokenBucket = field(init=False)
    _light: TokenBucket = field(init=False)
    _logs: TokenBucket = field(init=False)
    _flood_since: float = -math.inf
    _last_drop: float = -math.inf

    def __attrs_post_init__(self) -> None:
        rates = self._rates
        self._requests = TokenBucket(rates.rate, rates.burst, rates.now)
        # A higher rate that was configured holds here as well.
        self._light = TokenBucket(
            max(limits.LIGHT_PER_SECOND, rates.rate),
            max(limits.LIGHT_BURST, rates.burst),
            rates.now,
        )
        self._logs = TokenBucket(
            limits.LOG_FRAMES_PER_SECOND, limits.LOG_FRAMES_BURST, rates.now
        )

    def request(self, request: Request) -> Effect:
        """Pace a request: now, in a while, or refused when that is too long."""
        light = (request.service, request.method) in self._rates.light
        bucket = self._light if light else self._requests
        after = bucket.take(limits.PACED_SECONDS)
        if after is not None:
            return Dispatch(request, after)
        return Refuse(request.id, _too_many(bucket))

    def refused(self, refused: RefusedFrame) -> Effect:
        """Answer a refused frame, which costs a request: it had to be read as well."""
        paid = self._requests.take(limits.PACED_SECONDS) is not None
        error = refused.error if paid else _too_many(self._requests)
        return Refuse(refused.id, error, refused.evaluation)

    def logs(self, logs: Logs | None) -> list[Effect]:
        """
        Pass log records on, or drop and count them; a long flood closes.

        :param logs: ``None`` for a frame that cannot be read.
        """
        if self._logs.take() is not None:
            if logs is None:
                return [DropLogs(1, "their frame cannot be read")]
            return [WriteLogs(logs.records)]
        now = self._rates.now()
        if now - self._last_drop > 1.0:
            self._flood_since = now
        self._last_drop = now
        records = None if logs is None else logs.records
        # An empty frame counts as well, so that a flood of them is reported.
        count = (len(records) if type(records) is list else 0) or 1
        dropped = DropLogs(count, "they come too fast")
        if now - self._flood_since >= limits.LOG_FLOOD_SECONDS:
            return [dropped, Close(CloseReason.LOG_FLOOD)]
        return [dropped]


def _too_many(bucket: TokenBucket) -> BridgeError:
    seconds = max(1, math.ceil(bucket.wait() - limits.PACED_SECONDS))
    return BridgeError(
        Code.RATE_LIMITED, "too many requests; wait and ask again", seconds
    )


class Session:
    """
    The events of a socket, and the state that they lead to.

    Each event is a row of ``TABLE`` in each state.
    """

    __slots__ = ("_moves", "_rates", "budgets")

    budgets: Budgets
    """Only in the state *authenticated*."""

    def __init__(self, rates: Rates) -> None:
        self._rates = rates
        self._moves = TABLE["awaiting hello"]

    def hello_accepted(self) -> list[Effect]:
        """A ``hello`` came whose token matches."""
        return self._move("hello_accepted", None)

    def hello_refused(self) -> list[Effect]:
        """A ``hello`` came whose token does not match."""
        return self._move("hello_refused", None)

    def requested(self, request: Request) -> list[Effect]:
        """A ``request`` came."""
        return self._move("requested", request)

    def logged(self, logs: Logs) -> list[Effect]:
        """A ``logs`` frame came."""
        return self._move("logged", logs)

    def invalid_frame(self, refused: RefusedFrame) -> list[Effect]:
        """Bytes came that are not a frame, or a second ``hello`` did."""
        return self._move("invalid_frame", refused)

    def violated(self, reason: CloseReason) -> list[Effect]:
        """The peer violated the protocol, and the socket must close."""
        return self._move("violated", reason)

    def hello_timed_out(self) -> list[Effect]:
        """No ``hello`` came in time."""
        return self._move("hello_timed_out", None)

    def ended(self) -> list[Effect]:
        """The socket is closed, or is being closed by the daemon."""
        return self._move("ended", None)

    def _move(self, event: str, given: Any) -> list[Effect]:
        state, effects = self._moves[event]
        if state is not None:
            self._moves = TABLE[state]
        return effects(self, given)

    def authenticate(self) -> list[Effect]:
        """Fill the budgets, and welcome the page."""
        self.budgets = Budgets(self._rates)
        return [Welcome()]


_Effects = Callable[[Session, Any], list[Effect]]


def _always(*effects: Effect) -> _Effects:
    return lambda session, given: list(effects)


def _answer_refused(session: Session, refused: RefusedFrame) -> list[Effect]:
    if not refused.answered:
        return session.budgets.logs(None)
    return [session.budgets.refused(refused)]


_NOTHING = _always()
_REQUIRED = _always(CountRefusedHello(), Close(CloseReason.HELLO_REQUIRED))
_REFUSED = _always(CountRefusedHello(), Close(CloseReason.UNAUTHORIZED))
_SECOND = RefusedFrame(bad_request("hello must come first, and once"))


def _answer_second(session: Session, _: None) -> list[Effect]:
    # It was read, and may be as long as any frame: it costs what others cost.
    return [session.budgets.refused(_SECOND)]


TABLE: Final[dict[str, dict[str, tuple[str | None, _Effects]]]] = {
    "awaiting hello": {
        "hello_accepted": ("authenticated", lambda s, _: s.authenticate()),
        "hello_refused": ("closed", _REFUSED),
        "hello_timed_out": ("closed", _REQUIRED),
        "requested": ("closed", _REQUIRED),
        "logged": ("closed", _REQUIRED),
        "invalid_frame": ("closed", _REQUIRED),
        "violated": ("closed", _REQUIRED),
        "ended": ("closed", _NOTHING),
    },
    "authenticated": {
        "hello_accepted": (None, _answer_second),
        "hello_refused": (None, _answer_second),
        "hello_timed_out": (None, _NOTHING),
        "requested": (None, lambda s, request: [s.budgets.request(request)]),
        "logged": (None, lambda s, logs: s.budgets.logs(logs)),
        "invalid_frame": (None, _answer_refused),
        "violated": ("closed", lambda _, reason: [Close(reason)]),
        "ended": ("closed", _NOTHING),
    },
}
"""The next state, or ``None`` for the same, and the effects, by state and event."""

TABLE["closed"] = dict.fromkeys(TABLE["authenticated"], (None, _NOTHING))
