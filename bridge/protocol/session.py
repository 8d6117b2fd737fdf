"""
The socket session: what a page may do before and after ``hello``.

Rule 1: everything that decides what a socket may do is in this file.  Rule 2: no
I/O happens here.  What happened goes in as a method call; what must be done comes
out as a list of effects, which ``bridge.web.socket`` carries out in order.

The driver, not the machine, compares the token: it calls ``hello_accepted`` or
``hello_refused``.  Only the *authenticated* state has budgets (they are that
state's data), so nothing can be dispatched before ``welcome``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from attrs import define, field, frozen
from automat import TypeMachineBuilder

from . import limits
from .bucket import TokenBucket
from .errors import BridgeError, CloseReason, Code
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

    :ivar after: In this many seconds; calls of one socket keep their order.
    """

    request: Request
    after: float


@frozen
class Refuse:
    """Answer a request with an error."""

    id: str
    error: BridgeError


@frozen
class PushError:
    """Push an ``error`` event to this socket alone."""

    error: BridgeError


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


Effect = (
    Welcome
    | Close
    | CountRefusedHello
    | Dispatch
    | Refuse
    | PushError
    | WriteLogs
    | DropLogs
)


class Session(Protocol):
    """The events of a socket."""

    def hello_accepted(self) -> list[Effect]:
        """A ``hello`` came whose token matches."""

    def hello_refused(self) -> list[Effect]:
        """A ``hello`` came whose token does not match."""

    def requested(self, request: Request) -> list[Effect]:
        """A ``request`` came."""

    def logged(self, logs: Logs) -> list[Effect]:
        """A ``logs`` frame came."""

    def invalid_frame(self, refused: RefusedFrame) -> list[Effect]:
        """Bytes came that are not a frame, or a second ``hello`` did."""

    def violated(self, reason: CloseReason) -> list[Effect]:
        """The peer violated the protocol, and the socket must close."""

    def hello_timed_out(self) -> list[Effect]:
        """No ``hello`` came in time."""

    def ended(self) -> list[Effect]:
        """The socket is closed, or is being closed by the daemon."""


@frozen
class Rates:
    """
    The budgets of each socket of a daemon.

    :ivar rate: Requests a second.
    :ivar burst: Requests at once.
    :ivar now: The clock, in seconds.
    :ivar light: The ``(service, method)`` pairs that draw from a budget of their
        own, because pages call them as fast as a controller moves.
    """

    rate: float
    burst: int
    now: Callable[[], float]
    light: frozenset[tuple[str, str]] = frozenset()


@define
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
        self._light = TokenBucket(
            limits.LIGHT_PER_SECOND, limits.LIGHT_BURST, rates.now
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
        return PushError(error) if refused.id is None else Refuse(refused.id, error)

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


def _build() -> Callable[[Rates], Session]:  # noqa: C901 (a table, row by row)
    machine = TypeMachineBuilder(Session, Rates)

    def fill_budgets(_: Session, rates: Rates) -> Budgets:
        return Budgets(rates)

    awaiting = machine.state("awaiting hello")
    authenticated = machine.state("authenticated", fill_budgets)
    closed = machine.state("closed")

    required: list[Effect] = [CountRefusedHello(), Close(CloseReason.HELLO_REQUIRED)]
    refused: list[Effect] = [CountRefusedHello(), Close(CloseReason.UNAUTHORIZED)]
    second: list[Effect] = [
        PushError(BridgeError(Code.BAD_REQUEST, "hello must come first, and once"))
    ]

    awaiting.upon(Session.hello_accepted).to(authenticated).returns([Welcome()])
    awaiting.upon(Session.hello_refused).to(closed).returns(refused)
    awaiting.upon(Session.hello_timed_out).to(closed).returns(required)
    awaiting.upon(Session.ended).to(closed).returns([])
    authenticated.upon(Session.hello_timed_out).loop().returns([])
    authenticated.upon(Session.ended).to(closed).returns([])
    hellos = (Session.hello_accepted, Session.hello_refused)
    for event in hellos:
        authenticated.upon(event).loop().returns(second)
    for event in (*hellos, Session.hello_timed_out, Session.ended):
        closed.upon(event).loop().returns([])

    @awaiting.upon(Session.requested).to(closed)
    def requested_early(_: Session, _rates: Rates, request: Request) -> list[Effect]:
        return required

    @awaiting.upon(Session.logged).to(closed)
    def logged_early(_: Session, _rates: Rates, logs: Logs) -> list[Effect]:
        return required

    @awaiting.upon(Session.invalid_frame).to(closed)
    def invalid_frame_early(
        _: Session, _rates: Rates, refused: RefusedFrame
    ) -> list[Effect]:
        return required

    @awaiting.upon(Session.violated).to(closed)
    def violated_early(_: Session, _rates: Rates, reason: CloseReason) -> list[Effect]:
        return required

    @authenticated.upon(Session.requested).loop()
    def call(
        _: Session, _rates: Rates, budgets: Budgets, request: Request
    ) -> list[Effect]:
        return [budgets.request(request)]

    @authenticated.upon(Session.logged).loop()
    def log(_: Session, _rates: Rates, budgets: Budgets, logs: Logs) -> list[Effect]:
        return budgets.logs(logs)

    @authenticated.upon(Session.invalid_frame).loop()
    def answer_refused(
        _: Session, _rates: Rates, budgets: Budgets, refused: RefusedFrame
    ) -> list[Effect]:
        if not refused.answered:
            return budgets.logs(None)
        return [budgets.refused(refused)]

    @authenticated.upon(Session.violated).to(closed)
    def close(
        _: Session, _rates: Rates, budgets: Budgets, reason: CloseReason
    ) -> list[Effect]:
        return [Close(reason)]

    @closed.upon(Session.requested).loop()
    def ignore_request(_: Session, _rates: Rates, request: Request) -> list[Effect]:
        return []

    @closed.upon(Session.logged).loop()
    def ignore_logs(_: Session, _rates: Rates, logs: Logs) -> list[Effect]:
        return []

    @closed.upon(Session.invalid_frame).loop()
    def ignore_refused(
        _: Session, _rates: Rates, refused: RefusedFrame
    ) -> list[Effect]:
        return []

    @closed.upon(Session.violated).loop()
    def ignore_violation(
        _: Session, _rates: Rates, reason: CloseReason
    ) -> list[Effect]:
        return []

    return machine.build()


new_session = _build()
"""Makes the session of one socket, from the ``Rates`` all sockets share."""
