"""One connection to one database: it reads for one thread at a time."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from attrs import field

from ..classes import define, frozen
from ..protocol.limits import SQL_SECONDS, SQL_SLOWEST_VALUE_BYTES, SQL_VALUE_BYTES
from .authorizer import ONLY_READING, StatementAuthorizer
from .opening import Identity, Opened, identity, open_database, opened_tables
from .results import Meter, Rows, collect
from .sqliteerrors import primary_code, refusal, refused

_STEPS_BETWEEN_LOOKS: Final = 20_000
_FAILURES: Final = (
    sqlite3.Error,
    sqlite3.Warning,
    MemoryError,
    UnicodeDecodeError,  # of names, in results and in SQLite's messages
)


Param = str | int | float | None


@frozen
class Query:
    """
    A statement, and what is put in its placeholders.

    :ivar blobs: Whether blobs are wanted, not only how large they are.
    """

    sql: str
    params: list[Param]
    blobs: bool = False


@define(eq=False)
class Reader:
    """
    Keeps a connection while the file stays the same.

    :ivar path: The file.
    :ivar now: A clock, in seconds.
    """

    path: Path
    _now: Callable[[], float]
    _opened: Opened | None = None
    _identity: Identity | None = None
    _authorizer: StatementAuthorizer = field(factory=StatementAuthorizer)
    _until: float = 0.0
    _stopped: bool = False

    def read(self, query: Query) -> Rows:
        """
        Run one statement.  Blocks.

        :raise BridgeError: The statement is refused, or the database can't be read.
        """
        self._until = self._now() + SQL_SECONDS
        try:
            opened = self._connect()
            try:
                return self._run(opened, query)
            finally:
                if opened.for_once:
                    self.close()
        except _FAILURES as e:
            self.close()  # whatever has failed, another one is as good as new
            if self._authorizer.refusal is not None:
                raise refused(self._authorizer.refusal) from None
            raise refusal(e) from None

    def interrupt(self) -> None:
        """Interrupt the running statement, from any thread."""
        self._stopped = True
        opened = self._opened
        if opened is not None:
            with contextlib.suppress(sqlite3.ProgrammingError):  # it was just closed
                opened.connection.interrupt()

    def close(self) -> None:
        """Close the connection; the next statement opens another."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.connection.close()

    def _connect(self) -> Opened:
        self._authorizer.begin()
        found = identity(self.path)
        if self._opened is not None and found == self._identity:
            return self._opened
        self.close()
        opened = open_database(self.path)
        opened.connection.set_authorizer(self._authorizer)
        opened.connection.set_progress_handler(self._look, _STEPS_BETWEEN_LOOKS)
        self._opened, self._identity = opened, found
        return opened

    def _look(self) -> bool:
        """Whether the statement must end; SQLite asks now and then."""
        return self._stopped or self._now() > self._until

    def _run(self, opened: Opened, query: Query) -> Rows:
        """Run a statement on short values; if need be, and if it may, on long ones."""
        connection = opened.connection
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, SQL_VALUE_BYTES)
        if not opened_tables(connection, query.sql, query.params) <= opened.json:
            raise refused(ONLY_READING)
        try:
            return self._run_with(connection, query, SQL_SLOWEST_VALUE_BYTES)
        except sqlite3.Error as e:
            most = self._authorizer.value_bytes
            may_be_longer = most > SQL_SLOWEST_VALUE_BYTES
            if primary_code(e) != sqlite3.SQLITE_TOOBIG or not may_be_longer:
                raise
        return self._run_with(connection, query, most)

    def _run_with(
        self, connection: sqlite3.Connection, query: Query, value_bytes: int
    ) -> Rows:
        self._authorizer.begin()
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, value_bytes)
        meter = Meter(query.blobs)
        connection.text_factory = meter.text
        cursor = connection.cursor()
        try:
            cursor.execute(query.sql, query.params)
            if cursor.description is None:
                raise refused("it returns no rows")
            return collect(cursor, meter)
        finally:
            cursor.close()
