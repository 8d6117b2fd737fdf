"""The ``sql`` service: the host application's databases, by alias."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final

from attrs import field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ..classes import define, frozen
from ..databases.databases import Databases
from ..databases.reader import Param, Query
from ..databases.results import Rows
from ..protocol import limits
from ..protocol.errors import bad_request
from ..protocol.wire import (
    PARTIAL,
    AnyParams,
    Check,
    MaxItems,
    converter,
    patterns,
    whole,
)
from ..rpc import Caller, method

_INTEGERS: Final = range(-(2**63), 2**63)
_ABOUT: Final = {
    "maxRows": limits.SQL_ROWS,
    "maxResultBytes": limits.SQL_RESULT_BYTES,
    "maxParams": limits.SQL_PARAMS,
    "maxStatementMs": round(limits.SQL_SECONDS * 1000),
    "paths": "A database is named by its alias, never by a path.",
    "statements": "One statement per call; a semicolon at its end is fine.",
    "reads": (
        "Only SELECT, without ATTACH and PRAGMA; integers beyond 2^53-1 are strings; "
        f"values over {limits.SQL_SLOWEST_VALUE_BYTES} bytes only without trim, ltrim, "
        f"rtrim, unhex and json_patch, over {limits.SQL_SLOW_VALUE_BYTES} only without "
        f"functions that search, none over {limits.SQL_VALUE_BYTES}; "
        f"at most {limits.SQL_COLUMNS} columns, and {limits.SQL_STEPS} steps of "
        "SQLite's program for the statement."
    ),
    "blobs": "A blob is {blobBytes}, and with blobs: true {blobBytes, base64}.",
}


_STATEMENT: Final = Check(
    f"a statement of at most {limits.SQL_STATEMENT_BYTES} bytes, without NUL",
    {
        "maxLength": limits.SQL_STATEMENT_BYTES,
        **patterns(whole(r"[^\u0000]*")),
        PARTIAL: True,
    },
    lambda text: len(text.encode("utf-8")) > limits.SQL_STATEMENT_BYTES or "\0" in text,
)
_PARAM: Final = Check(
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
    params: Annotated[list[Annotated[Any, _PARAM]], MaxItems(limits.SQL_PARAMS)] = (
        field(factory=list)
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
    max_rows: int
    max_result_bytes: int
    max_params: int
    max_statement_ms: int
    paths: str
    statements: str
    reads: str
    blobs: str


# They hold plain JSON, which cattrs would copy value by value.
converter.register_unstructure_hook(
    Rows, lambda found: {"columns": found.columns, "rows": found.rows}
)


@define(eq=False, repr=False)
class Sql:
    """
    Reads the host application's SQLite databases.

    :ivar about: What each database holds, by alias.
    """

    _databases: Databases
    _about: Mapping[str, str]
    _clock: IReactorTime

    _log: ClassVar[Logger] = Logger()

    def describe(self) -> dict[str, Any]:
        """Return the databases, and the limits of statements."""
        listed = [
            {"alias": alias, "writable": False, "about": about}
            for alias, about in self._about.items()
        ]
        return {"databases": listed, **_ABOUT}

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
        begun = self._clock.seconds()
        rows = await self._databases.read(
            params.database, Query(params.sql, values, params.blobs), caller
        )
        self._log.debug(
            "read {alias} in {ms:.0f} ms",
            alias=params.database,
            ms=(self._clock.seconds() - begun) * 1000,
        )
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
        return converter.structure(self.describe(), DatabasesResult)

    def close(self) -> Deferred[None]:
        """End every statement that runs; fires when none is under way."""
        return self._databases.close()

    def _check(self, params: Statement) -> None:
        if params.database not in self._about:
            known = ", ".join(self._about) or "none"
            raise bad_request(f"database: unknown database; there are: {known}")


def _param(value: Any) -> Param:
    """Convert a parameter for SQLite: booleans to 0 or 1, huge integers to floats."""
    if isinstance(value, int) and value not in _INTEGERS:
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
    return value if not isinstance(value, bool) else int(value)
