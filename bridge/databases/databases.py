"""The databases by alias, and the statements that run, several at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field
from twisted.internet.defer import Deferred, DeferredSemaphore
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ..protocol.errors import BridgeError, Code, shutting_down
from ..protocol.limits import (
    SQL_IDLE_SECONDS,
    SQL_SECONDS,
    SQL_STATEMENTS_AT_ONCE,
    SQL_STATEMENTS_WAITING,
)
from .query import Query
from .results import Rows

if TYPE_CHECKING:
    from .reader import Reader


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
    _idle: dict[str, list[Reader]] = field(factory=dict)
    _running: set[Reader] = field(factory=set)
    _turns: DeferredSemaphore = field(
        factory=lambda: DeferredSemaphore(SQL_STATEMENTS_AT_ONCE)
    )
    _sweep: IDelayedCall | None = None
    _closed: bool = False
    _under_way: int = 0
    _ended: list[Deferred[None]] = field(factory=list)

    async def read(self, alias: str, query: Query) -> Rows:
        """
        Run one statement, when it is its turn.

        :param alias: The name of one of the databases.
        :return: Its rows written already; see ``Rows.written``.
        :raise BridgeError: It is refused, the database can't be read, or too many wait.
        """
        if len(self._turns.waiting) >= SQL_STATEMENTS_WAITING:
            raise BridgeError(Code.UNAVAILABLE, "too many statements wait; ask again")
        self._under_way += 1
        try:
            return await self._turns.run(self._read, alias, query)
        finally:
            self._under_way -= 1
            self._note_end()

    def close(self) -> Deferred[None]:
        """
        Interrupt every running statement; begin none.

        :return: Fires when none is under way.
        """
        self._closed = True
        for reader in self._running:
            reader.interrupt()
        self._close_idle()
        ended: Deferred[None] = Deferred()
        self._ended.append(ended)
        self._note_end()
        return ended

    def _note_end(self) -> None:
        if not self._under_way:
            ended, self._ended = self._ended, []
            for waiting in ended:
                waiting.callback(None)

    def _open(self, alias: str) -> Reader:
        from .reader import Reader  # SQLite is 1 MiB, and many pages never need it

        return Reader(self._paths[alias], self._now)

    async def _read(self, alias: str, query: Query) -> Rows:
        if self._closed:
            raise shutting_down()
        idle = self._idle.get(alias)
        reader = idle.pop() if idle else self._open(alias)
        self._running.add(reader)
        # SQLite looks at the time by itself, but not within every step.
        late = self._clock.callLater(SQL_SECONDS, reader.interrupt)
        try:
            rows: Rows = await self._in_thread(lambda: reader.read(query).written())
            return rows
        finally:
            self._running.discard(reader)
            if late.active():
                late.cancel()
                self._idle.setdefault(alias, []).append(reader)
            else:
                reader.close()
            self._close_later()

    def _close_later(self) -> None:
        if self._closed:
            self._close_idle()
        elif self._sweep is not None and self._sweep.active():
            self._sweep.reset(SQL_IDLE_SECONDS)
        else:
            self._sweep = self._clock.callLater(SQL_IDLE_SECONDS, self._close_idle)

    def _close_idle(self) -> None:
        if self._sweep is not None and self._sweep.active():
            self._sweep.cancel()
        for readers in self._idle.values():
            for reader in readers:
                reader.close()
        self._idle.clear()
