"""The ``sql`` service: the host application's databases, by alias."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from attrs import field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ..classes import define, frozen
from ..concurrency.shares import Place, Shares
from ..concurrency.timers import Expiring
from ..databases.reader import Param, Query, Reader, Rows
from ..protocol import limits
from ..protocol.errors import bad_request, unavailable
from ..protocol.wire import (
    PARTIAL,
    AnyParams,
    Rule,
    converter,
    entries,
    unstructure,
    whole,
)
from ..rpc import Caller, method
from ..system.processes import trim

_INTEGERS: Final = range(-(2**63), 2**63)
_READS: Final = (
    "Only SELECT, without ATTACH and PRAGMA; integers beyond 2^53-1 are strings; "
    f"values over {limits.SQL_SLOWEST_VALUE_BYTES} bytes only without trim, ltrim, "
    f"rtrim, unhex and json_patch, over {limits.SQL_SLOW_VALUE_BYTES} only without "
    f"functions that search, none over {limits.SQL_VALUE_BYTES}; "
    f"at most {limits.SQL_COLUMNS} columns, and {limits.SQL_STEPS} steps of "
    "SQLite's program for the statement."
)
_STATEMENT: Final = Rule(
    f"a statement of at most {limits.SQL_STATEMENT_BYTES} bytes, without NUL",
    {
        "maxLength": limits.SQL_STATEMENT_BYTES,
        "pattern": whole(r"[^\u0000]*"),
        PARTIAL: True,
    },
    lambda text: len(text.encode("utf-8")) > limits.SQL_STATEMENT_BYTES or "\0" in text,
)
_PARAM: Final = Rule(
    "each null, a boolean, a number or a string",
    {"type": ["null", "boolean", "number", "string"]},
    lambda value: isinstance(value, list | dict),
)


@frozen(eq=False, repr=False)
class Statement(AnyParams):
    """
    One statement.

    :ivar database: An alias; see ``sql/databases``.
    :ivar sql: Placeholders are ``?``, or ``?1``, ``?2`` and so on.
    :ivar params: What the placeholders stand for, in order.
    :ivar blobs: Whether blobs are wanted, not only how large they are.
    """

    database: str
    sql: Annotated[str, _STATEMENT]
    params: Annotated[list[Annotated[Any, _PARAM]], entries(limits.SQL_PARAMS)] = field(
        factory=list
    )
    blobs: bool = False


@frozen(eq=False, repr=False)
class ExecuteResult:
    """
    What a statement has changed.

    :ivar changed: How many rows.
    :ivar last_insert_rowid: The last of those that were inserted.
    """

    changed: int
    last_insert_rowid: int


@frozen(eq=False, repr=False)
class DatabaseEntry:
    """
    A database.

    :ivar alias: What ``database`` names it by.
    :ivar writable: Always false.
    :ivar about: What it holds.
    """

    alias: str
    writable: bool
    about: str


@frozen(eq=False, repr=False)
class DatabasesResult:
    """
    The databases, and what a statement may do.

    :ivar databases: Every database.
    :ivar max_rows: More rows are an error.
    :ivar max_result_bytes: A larger result is an error; it is estimated, and as JSON
        it may be twice as large.
    :ivar max_params: How many ``params`` there may be.
    :ivar max_statement_ms: How long a statement may take.
    :ivar paths: How a database is named.
    :ivar statements: What a call may have.
    :ivar reads: What can be read, and how it is represented.
    :ivar blobs: How a blob is represented.
    """

    databases: list[DatabaseEntry]
    max_rows: int = limits.SQL_ROWS
    max_result_bytes: int = limits.SQL_RESULT_BYTES
    max_params: int = limits.SQL_PARAMS
    max_statement_ms: int = round(limits.SQL_SECONDS * 1000)
    paths: str = "A database is named by its alias, never by a path."
    statements: str = "One statement per call; a semicolon at its end is fine."
    reads: str = _READS
    blobs: str = "A blob is {blobBytes}, and with blobs: true {blobBytes, base64}."


# They hold plain JSON, which cattrs would copy value by value.
converter.register_unstructure_hook(
    Rows, lambda found: {"columns": found.columns, "rows": found.rows}
)


@define(eq=False, repr=False)
class Sql:
    """
    Reads the host application's SQLite databases.

    Connections are assigned in the reactor's thread, so nothing needs a lock.  Idle
    connections are closed after a while: the host application may need exclusive
    access to its files.

    :ivar about: What each database holds, by alias.
    :ivar in_thread: Calls a function in a thread; ``SQL_STATEMENTS_AT_ONCE`` of them.
    :ivar now: A clock for threads, in seconds.
    """

    _paths: Mapping[str, Path]
    _about: Mapping[str, str]
    _clock: IReactorTime
    _in_thread: Callable[..., Deferred[Any]]
    _now: Callable[[], float]
    _idle: Expiring[Reader] = field(init=False)
    _turns: Shares = field(init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self._idle = Expiring(self._clock, limits.SQL_IDLE_SECONDS, _close)
        self._turns = Shares(
            "statements",
            limits.SQL_STATEMENTS_AT_ONCE,
            limits.SQL_STATEMENTS_WAITING,
            limits.SQL_STATEMENTS_WAITING_PER_CALLER,
        )

    def describe(self) -> dict[str, Any]:
        """Return the databases, and the limits of statements."""
        described: dict[str, Any] = unstructure(self._listed())
        return described

    @method(Statement, Rows, seconds=limits.SQL_ANSWER_SECONDS)
    async def query(self, params: Statement, caller: Caller) -> Rows:
        """
        Read rows by one SELECT statement, which ends with its page.

        :raise BridgeError: ``bad_request`` for an unknown database, a statement that is
            not one SELECT, that SQLite refuses or that takes over 5 s, parameters that
            do not match, and a result that is too large; ``unavailable`` when the
            database is not there, or too many statements wait; ``internal`` when it is
            locked or damaged.
        """
        self._check(params)
        values = [_param(value) for value in params.params]
        query = Query(params.sql, values, params.blobs)
        asked = self._clock.seconds()
        async with self._turns.place(caller) as place:
            # Its caller has given up, and others may wait behind it.
            if self._clock.seconds() - asked > limits.SQL_ANSWER_SECONDS:
                raise unavailable("the statement has waited too long for its turn")
            rows = await self._read(self._paths[params.database], query, place)
            self._log.debug(
                "read {alias} in {ms:.0f} ms",
                alias=params.database,
                ms=(self._clock.seconds() - asked) * 1000,
            )
            # Its rows are held back while the caller has yet to read others.
            await place.drained()
            return rows

    @method(Statement, ExecuteResult)
    async def execute(self, params: Statement) -> ExecuteResult:
        """
        Change a database; refused, because every one of them is read-only.

        :raise BridgeError: ``bad_request``, always.
        """
        self._check(params)
        raise bad_request("database: it is read-only")

    @method(AnyParams, DatabasesResult)
    async def databases(self, params: AnyParams) -> DatabasesResult:
        """List the databases, and the limits of statements."""
        return self._listed()

    def close(self) -> Deferred[None]:
        """
        Interrupt every running statement; begin none.

        :return: Fires when none is under way.
        """
        ended = self._turns.close()
        self._idle.close()
        return ended

    def _listed(self) -> DatabasesResult:
        return DatabasesResult(
            [DatabaseEntry(alias, False, about) for alias, about in self._about.items()]
        )

    def _take(self, path: Path) -> Reader:
        """Return the reader that was used last, so that the others can expire."""
        for idle in self._idle:
            if idle.path == path:
                self._idle.take(idle)
                return idle
        return Reader(path, self._now)

    async def _read(self, path: Path, query: Query, place: Place) -> Rows:
        reader = self._take(path)
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

    def _check(self, params: Statement) -> None:
        if params.database not in self._about:
            known = ", ".join(self._about) or "none"
            raise bad_request(f"database: unknown database; there are: {known}")


def _close(idle: Reader) -> None:
    idle.close()
    trim()


def _param(value: Any) -> Param:
    """Convert a parameter for SQLite: booleans to 0 or 1, huge integers to floats."""
    if isinstance(value, int) and value not in _INTEGERS:
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
    return value if not isinstance(value, bool) else int(value)
