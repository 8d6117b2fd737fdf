"""
What HTTP connections share, with a bound on the share of each.

::

    pending   places: the connection that has waited longest is dropped first
    answers   memory: the connection with most that is unread is dropped first
    quota     requests answered in one turn of the reactor, in rotation

Connections without the token compete for places, and are answered in a packet; those
with it keep their places, and may be answered at length.
"""

from __future__ import annotations

from typing import Protocol

from attrs import field
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ..classes import define
from ..protocol import limits


class LimitedConnection(Protocol):
    """A connection that shares resources with others."""

    def drop(self) -> None:
        """Close now, whatever is under way."""

    def resume_reading(self) -> None:
        """Read what has come."""


@define(eq=False, repr=False)
class Parts:
    """
    Bounds the sum of what connections take.

    Over it the largest part is dropped; of equals, the one that was there first.  So
    clients that hold connections open take places from each other, and one that sends
    its request at once is always served.
    """

    _limit: int
    _parts: dict[LimitedConnection, int] = field(factory=dict)

    @property
    def total(self) -> int:
        """How much is taken."""
        return sum(self._parts.values())

    def add(self, connection: LimitedConnection, part: int = 1) -> None:
        """Add a connection, as the newest."""
        self.leave(connection)
        self._parts[connection] = part
        while self.total > self._limit:
            largest = max(self._parts, key=self._parts.__getitem__)
            self.leave(largest)
            largest.drop()

    def leave(self, connection: LimitedConnection) -> None:
        """Remove a connection, if present."""
        self._parts.pop(connection, None)


@define(eq=False, repr=False)
class RequestQuota:
    """
    Bounds the requests that are answered in one turn of the reactor.

    A connection that comes when the turn is used up waits for the next one.
    """

    _clock: IReactorTime
    _limit: int = limits.HTTP_REQUESTS_PER_TURN
    _answered: int = 0
    _next: IDelayedCall | None = None
    _waiting: dict[LimitedConnection, None] = field(factory=dict)

    @property
    def free(self) -> bool:
        """Whether a request may be read now."""
        return self._answered < self._limit

    def consume(self, requests: int = 1) -> None:
        """Count a request that is answered in this turn, or what takes as long."""
        self._answered += requests
        self._schedule()

    def wait(self, connection: LimitedConnection) -> None:
        """Call ``resume_reading`` of a connection when it is due."""
        self._waiting[connection] = None
        self._schedule()

    def leave(self, connection: LimitedConnection) -> None:
        """Remove a connection, if it waits."""
        self._waiting.pop(connection, None)

    def _schedule(self) -> None:
        if self._next is None:
            self._next = self._clock.callLater(0, self._begin)

    def _begin(self) -> None:
        self._next = None
        self._answered = 0
        while self._waiting and self.free:
            connection = next(iter(self._waiting))
            del self._waiting[connection]
            connection.resume_reading()


@define(eq=False, repr=False)
class ConnectionLimits:
    """
    All that the connections of a daemon share.

    :ivar pending: The connections that have not shown the token yet.
    :ivar answers: What callers with the token were answered, and have not read; in
        bytes.
    """

    quota: RequestQuota
    pending: Parts = field(factory=lambda: Parts(limits.CONNECTIONS_WAITING))
    answers: Parts = field(factory=lambda: Parts(limits.UNSENT_BYTES))

    def leave(self, connection: LimitedConnection) -> None:
        """Forget a connection."""
        self.pending.leave(connection)
        self.quota.leave(connection)
        self.answers.leave(connection)
