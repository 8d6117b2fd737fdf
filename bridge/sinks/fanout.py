"""
The sinks, started, delivered to, and closed.

A sink that fails or hangs is a reason, and never more: each has its own deadline.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

from attrs import field
from twisted.internet.defer import (
    CancelledError,
    Deferred,
    gatherResults,
    maybeDeferred,
)
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..classes import define
from ..protocol.errors import WireString
from ..protocol.limits import SINK_SECONDS, SINK_START_SECONDS
from .notification import Notification


class Health(WireString):
    """The state of a sink's other end."""

    UP = "up", "something is there and accepts notifications"
    UNKNOWN = "unknown", "its state cannot be known"
    DOWN = "down", "nothing is there now"


class UnavailableError(Exception):
    """Nothing was there to accept a notification; the message is ours."""


class RejectedError(Exception):
    """It was not accepted, or can't be sent; the message is ours."""


class Sink(Protocol):
    """Something that shows notifications."""

    @property
    def name(self) -> str:
        """Its name for callers and ``--sink``."""

    @property
    def description(self) -> str:
        """What it reaches; one line."""

    @property
    def honours(self) -> tuple[str, ...]:
        """The fields it uses, as the wire spells them."""

    @property
    def has_started(self) -> bool:
        """Whether it is a target: from its start on, or later."""

    def start(self) -> Deferred[None] | None:
        """
        Begin.

        :return: A Deferred, or ``None``.  Fails with ``UnavailableError`` when it
            can't be a target now; it may still become one by itself.
        """

    def health(self) -> Health:
        """Return its ``Health`` now; never waits."""

    def deliver(self, notification: Notification) -> Deferred[None] | None:
        """
        Show a ``Notification``.

        :return: A Deferred, or ``None``.  Fails with ``UnavailableError`` or
            ``RejectedError``.  Cancelled at the deadline.
        """

    def close(self) -> Deferred[Any] | None:
        """End, and release what is held; ``None`` or a Deferred."""


@define(eq=False, repr=False)
class Fanout:
    """
    The sinks of this daemon.

    :ivar sinks: In the order in which they are listed.
    """

    _clock: IReactorTime
    sinks: Sequence[Sink] = ()

    _waiting: set[Deferred[Any]] = field(factory=set, init=False)

    _log: ClassVar[Logger] = Logger()

    def targets(self) -> list[Sink]:
        """Return the sinks that have started."""
        return [sink for sink in self.sinks if sink.has_started]

    def start(self) -> Deferred[None]:
        """Start every sink; fires when each has started or was skipped."""
        starting = [self._start(sink) for sink in self.sinks]
        return gatherResults(starting).addCallback(lambda _: None)

    def _start(self, sink: Sink) -> Deferred[None]:
        def skipped(failure: Failure) -> None:
            if failure.check(CancelledError):
                return  # the daemon ends before the sink has started
            self._log.warn(
                "sink {name} is skipped: {why}", name=sink.name, why=self._why(failure)
            )

        return self._in_time(SINK_START_SECONDS, sink.start).addErrback(skipped)

    def deliver(self, sink: Sink, notification: Notification) -> Deferred[str | None]:
        """
        Deliver a notification to a sink.

        :return: Fires, within seconds, with why it was not delivered; never fails.
        """
        delivering = self._in_time(SINK_SECONDS, sink.deliver, notification)
        return delivering.addCallbacks(lambda _: None, self._why)

    def _why(self, failure: Failure) -> str:
        if failure.check(CancelledError):
            return "unavailable: it has ended"
        if failure.check(RejectedError):
            return f"rejected: {failure.getErrorMessage()}"
        if failure.check(UnavailableError):
            return f"unavailable: {failure.getErrorMessage()}"
        self._log.failure("a sink failed", failure)
        return "unavailable: it failed; see the daemon's log"

    def _in_time(
        self, seconds: float, ask: Callable[..., Any], *arguments: Any
    ) -> Deferred[Any]:
        """Call a sink; what takes longer is cancelled, and fails."""

        def ended(result: Any) -> Any:
            self._waiting.discard(answer)
            return result

        answer = maybeDeferred(ask, *arguments)
        self._waiting.add(answer)
        answer.addTimeout(seconds, self._clock, lambda _, __: _too_late())
        return answer.addBoth(ended)

    def close(self) -> Deferred[Any]:
        """End every sink, and cancel those that do not end."""

        def ended(failure: Failure) -> None:
            self._log.failure("a sink failed to close", failure)

        closing = gatherResults(
            [maybeDeferred(sink.close).addErrback(ended) for sink in self.sinks]
        )
        for waiting in list(self._waiting):
            waiting.cancel()
        return closing


def _too_late() -> Failure:
    return Failure(UnavailableError("no answer in time"))
