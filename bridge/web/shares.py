"""
What HTTP connections share, and how no one of them gets more than its part.

::

    Crowd    places: the greediest connection goes first, then the longest waiting
    Turns    requests answered in one turn of the reactor, one connection after another
    Unsent   memory for answers that are not read: the connection with most goes first

Only connections without the token compete: a call has earned its place.
"""

from __future__ import annotations

from typing import Protocol

from attrs import define, field
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ..protocol import limits


class Connection(Protocol):
    """What its rivals know of a connection."""

    @property
    def greed(self) -> int:
        """How many of its requests were answered without the token."""

    def drop(self) -> None:
        """Close now, whatever is under way."""

    def take_turn(self) -> None:
        """Read at least one request of those that have come."""


@define
class Crowd:
    """
    The connections that have not earned a place: nobody knows yet who asks.

    Over the limit the greediest is dropped; of equals, the one waiting longest.
    So those who flood, and those who hold connections open without asking, take places
    from each other, and one that asks at once is always served.
    """

    _limit: int
    _waiting: dict[Connection, None] = field(factory=dict)

    def __len__(self) -> int:
        return len(self._waiting)

    def join(self, connection: Connection) -> None:
        """Let a connection wait, as the newest."""
        self._waiting.pop(connection, None)
        self._waiting[connection] = None
        if len(self._waiting) > self._limit:
            greediest = max(self._waiting, key=lambda waiting: waiting.greed)
            del self._waiting[greediest]
            greediest.drop()

    def leave(self, connection: Connection) -> None:
        """Remove a connection, if it is there."""
        self._waiting.pop(connection, None)


@define
class Turns:
    """
    Bounds the requests that are answered in one turn of the reactor.

    Who comes when the turn is used up waits for the next one.  While several wait, each
    gets one request at a time.
    """

    _limit: int
    _clock: IReactorTime
    _left: int = field(init=False)
    _next: IDelayedCall | None = None
    _waiting: dict[Connection, None] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._left = self._limit

    @property
    def free(self) -> bool:
        """Whether a request may be read now."""
        return self._left > 0 and not self._waiting

    def spend(self, requests: int = 1) -> None:
        """Count a request that is answered in this turn, or what takes as long."""
        self._left -= requests
        self._schedule()

    def wait(self, connection: Connection) -> None:
        """Call ``take_turn`` of a connection when it is due."""
        self._waiting[connection] = None
        self._schedule()

    def leave(self, connection: Connection) -> None:
        """Remove a connection, if it waits."""
        self._waiting.pop(connection, None)

    def _schedule(self) -> None:
        if self._next is None:
            self._next = self._clock.callLater(0, self._begin)

    def _begin(self) -> None:
        self._next = None
        self._left = self._limit
        while self._waiting and self._left > 0:
            connection = next(iter(self._waiting))
            del self._waiting[connection]
            connection.take_turn()
        if self._waiting:
            self._schedule()


@define
class Unsent:
    """
    Bounds what waits to be sent, over all connections without the token.

    :ivar total: In bytes.
    """

    _limit: int
    total: int = 0
    _sizes: dict[Connection, int] = field(factory=dict)

    def add(self, connection: Connection, size: int) -> None:
        """Count so many bytes; over the limit drop the connections with most."""
        self._sizes[connection] = self._sizes.get(connection, 0) + size
        self.total += size
        while self.total > self._limit:
            largest = max(self._sizes, key=self._sizes.__getitem__)
            self.leave(largest)
            largest.drop()

    def leave(self, connection: Connection) -> None:
        """Count nothing more for a connection: all is sent, or never will be."""
        self.total -= self._sizes.pop(connection, 0)


@define
class Shares:
    """All that the connections of a daemon share."""

    crowd: Crowd
    turns: Turns
    unsent: Unsent

    def leave(self, connection: Connection) -> None:
        """Forget a connection."""
        self.crowd.leave(connection)
        self.turns.leave(connection)
        self.unsent.leave(connection)


def make_shares(clock: IReactorTime) -> Shares:
    """Make what the connections of one daemon share."""
    return Shares(
        Crowd(limits.CONNECTIONS_WAITING),
        Turns(limits.HTTP_REQUESTS_PER_TURN, clock),
        Unsent(limits.HTTP_UNSENT_BYTES),
    )
