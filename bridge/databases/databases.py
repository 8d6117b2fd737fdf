"""The databases by alias, and the statements that run, several at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ..classes import define
from ..concurrency.shares import Holder, Place, Shares
from ..concurrency.timers import Expiring
from ..protocol import limits
from ..protocol.errors import unavailable
from ..system.processes import trim
from .reader import Query, Reader
from .results import Rows


@define(eq=False, repr=False)
class Databases:
    """
    Reads databases in threads.

    Connections are assigned in the reactor's thread, so nothing needs a lock.  Idle
    connections are closed after a while: the host application may need exclusive
    access to its files.

    :ivar in_thread: Calls a function in a thread; ``SQL_STATEMENTS_AT_ONCE`` of them.
    :ivar now: A clock for threads, in seconds.
    """

    _paths: Mapping[str, Path]
    _clock: IReactorTime
    _in_thread: Callable[..., Deferred[Any]]
    _now: Callable[[], float]
    _idle: Expiring[Reader] = field(init=False)
    _turns: Shares = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._idle = Expiring(self._clock, limits.SQL_IDLE_SECONDS, self._drop)
        self._turns = Shares(
            "statements",
            limits.SQL_STATEMENTS_AT_ONCE,
            limits.SQL_STATEMENTS_WAITING,
            limits.SQL_STATEMENTS_WAITING_PER_CALLER,
        )

    async def read(
        self, alias: str, query: Query, caller: Holder | None = None
    ) -> Rows:
        """
        Run one statement, when it is its turn.  It ends with its caller, and its rows
        are held back while that has yet to read what it was sent before.

        :param alias: The name of one of the databases.
        :return: Its rows written already; see ``Rows``.
        :raise BridgeError: It is refused, the database can't be read, too many wait,
            or it has waited longer than its caller does.
        """
        asked = self._clock.seconds()
        async with self._turns.place(caller) as place:
            # Its caller has given up, and others may wait behind it.
            if self._clock.seconds() - asked > limits.SQL_ANSWER_SECONDS:
                raise unavailable("the statement has waited too long for its turn")
            rows = await self._read(alias, query, place)
            await place.drained()
            return rows

    def close(self) -> Deferred[None]:
        """
        Interrupt every running statement; begin none.

        :return: Fires when none is under way.
        """
        ended = self._turns.close()
        self._idle.close()
        return ended

    def _drop(self, idle: Reader) -> None:
        idle.close()
        trim()

    def _take(self, path: Path) -> Reader:
        """Return the reader that was used last, so that the others can expire."""
        for idle in self._idle:
            if idle.path == path:
                self._idle.take(idle)
                return idle
        return Reader(path, self._now)

    async def _read(self, alias: str, query: Query, place: Place) -> Rows:
        reader = self._take(self._paths[alias])
        place.end = reader.interrupt
        # SQLite looks at the time by itself, but not within every step.
        late = self._clock.callLater(limits.SQL_SECONDS, reader.interrupt)
        try:
            rows: Rows = await self._in_thread(reader.read, query)
            return rows
        finally:
            interrupted = place.why is not None or not late.active()
            if late.active():
                late.cancel()
            if interrupted:
                reader.close()
            else:
                self._idle.keep(reader)
