"""
One connection to one database: it reads for one thread at a time, and measures the
rows of an answer while they come.

A database is opened as one whose author may be hostile.
"""

from __future__ import annotations

import base64
import contextlib
import math
import os
import re
import sqlite3
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
from attrs import field

from ..classes import define, frozen
from ..protocol import limits
from ..protocol.errors import BridgeError, bad_request, unavailable
from ..protocol.limits import SQL_SECONDS, SQL_SLOWEST_VALUE_BYTES, SQL_VALUE_BYTES
from ..protocol.strictjson import SAFE_INTEGER
from .statements import (
    ONLY_READING,
    StatementAuthorizer,
    primary_code,
    refusal,
    refused,
)

Identity = tuple[int, int, int, int]
"""Which file it is, how large, and when it was written: it can be overwritten."""

Tables = frozenset[bytes]
"""Virtual tables, as SQLite shows them in programs of one connection."""

_EXPLAIN: Final = "EXPLAIN "
_IS_EXPLAIN: Final = re.compile(
    r"\s*EXPLAIN\b(\s+QUERY\s+PLAN\b)?", re.IGNORECASE | re.ASCII
)
_READ_JSON: Final = {
    "json_each": "SELECT 1 FROM json_each('[]')",
    "json_tree": "SELECT 1 FROM json_tree('[]')",
}

# After https://www.sqlite.org/security.html.
_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 250,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: limits.SQL_PATTERN_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: len(_EXPLAIN) + limits.SQL_STATEMENT_BYTES,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: limits.SQL_PARAMS,
    sqlite3.SQLITE_LIMIT_VDBE_OP: limits.SQL_STEPS,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}

_PRAGMAS: Final = (
    "query_only = ON",
    # Views and the like may call no function that could do harm.
    "trusted_schema = OFF",
    # Damaged pages are noticed, not followed.
    "cell_size_check = ON",
    # A mapped file that is made shorter would kill the process.
    "mmap_size = 0",
    # A sort must not fill the disk; the heap, which is the whole process's, is bounded.
    "temp_store = MEMORY",
    f"hard_heap_limit = {limits.SQL_HEAP_BYTES}",
)


@frozen
class Opened:
    """
    A database that is open for reading.

    :ivar connection: One thread at a time may use it.
    :ivar json: The virtual tables that statements may open.
    :ivar identity: Which file; ``None``, which no file has, when it notices no change,
        so that it serves one statement only.
    """

    connection: sqlite3.Connection
    json: Tables
    identity: Identity | None


def identity(path: Path) -> Identity:
    """
    Return what tells a connection's file from one that has changed, links followed.

    A link is the user's own doing: no page, and no plugin, can make one.

    :raise BridgeError: ``unavailable``: there is none, or it is no file to be read.
    """
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise unavailable("the database is not on this machine yet") from None
    except OSError as e:
        raise unavailable(f"the database cannot be read: {e.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise unavailable("the database is not a regular file")
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def open_database(path: Path, found: Identity) -> Opened:
    """
    Open a database for reading.

    One in WAL mode needs its companion files; where they are not there, and can't be
    made because the directory is read-only, no process can be writing either.  It is
    then opened as one that does not change, which ignores what a log or a journal has.

    :param found: Which file it is now.
    :raise sqlite3.Error: It can't be opened.
    """
    try:
        return Opened(*_connect(path, "mode=ro"), found)
    except sqlite3.Error as e:
        if primary_code(e) != sqlite3.SQLITE_CANTOPEN or _to_recover(path):
            raise
    return Opened(*_connect(path, "mode=ro&immutable=1"), None)


def _to_recover(path: Path) -> bool:
    """Whether the file lacks changes, or has some that were never committed."""
    for companion in ("-wal", "-journal"):
        with contextlib.suppress(OSError):
            if os.stat(f"{os.path.realpath(path)}{companion}").st_size > 0:
                return True
    return False


def _connect(path: Path, how: str) -> tuple[sqlite3.Connection, Tables]:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}",
        uri=True,
        timeout=limits.SQL_BUSY_SECONDS,
        check_same_thread=False,
        # SQLite asks what a statement may do only when it is prepared.
        cached_statements=0,
    )
    try:
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}").close()
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").close()
        # Their first use would need more than reading is allowed.
        return connection, json_tables(connection)
    except BaseException:
        connection.close()
        raise


def opened_tables(
    connection: sqlite3.Connection, sql: str, params: Sequence[object] = ()
) -> Tables:
    """
    Return the virtual tables that a statement opens; it is prepared, not run.

    They are in its program.  SQLite 3.46 asks its authorizer when a connection first
    meets one, and 3.53 does not.  Names prove nothing, as the schema may be a hostile
    author's.

    :raise sqlite3.Error: It can't be prepared.
    :raise BridgeError: It shows a program itself, which has addresses of the daemon's.
    """
    if explain := _IS_EXPLAIN.match(sql):
        if explain[1] is None:
            raise refused(ONLY_READING)
        return frozenset()  # it opens nothing itself
    # A name may be no UTF-8.
    connection.text_factory = bytes
    program = connection.execute(_EXPLAIN + sql, params)
    return frozenset(step[5] for step in program if step[1] == b"VOpen")


def json_tables(connection: sqlite3.Connection) -> Tables:
    """Return SQLite's own ``json_each`` and ``json_tree``."""
    found: Tables = frozenset()
    connection.text_factory = bytes
    for name, sql in _READ_JSON.items():
        with contextlib.suppress(sqlite3.OperationalError):
            columns = connection.execute(f"PRAGMA table_xinfo({name})").fetchall()
            begins = [column[1] for column in columns[:1]]
            hidden = {column[1] for column in columns if column[6]}
            # A table of the file may have that name.  A geopoly may hide just these,
            # but begins otherwise; no other of SQLite's modules lets a table do so.
            if begins == [b"key"] and hidden == {b"json", b"root"}:
                found |= opened_tables(connection, sql)
    return found


_NULL_BYTES: Final = 4
_NUMBER_BYTES: Final = 20
_BLOB_BYTES: Final = 32
_QUOTES_BYTES: Final = 2


@frozen(eq=False, repr=False)
class Rows:
    """
    What a statement gives.

    :ivar columns: Their names, in order; a name can be there twice.
    :ivar rows: Plain JSON by column; of two columns of a name it has the last.
    """

    columns: list[str]
    # JSON that is written already: to format 8 MiB in the reactor's thread would block
    # it for too long.  It is one block, as thousands of small ones would leave the heap
    # in pieces.
    rows: list[dict[str, Any]]


def _too_large(limit: str) -> BridgeError:
    return bad_request(f"the result is too large: over {limit}")


@define(eq=False, repr=False)
class Meter:
    """
    Estimates how large a result is as JSON, and stops it when it is too large.

    ``text`` is a connection's ``text_factory``, so a row of many long texts is
    stopped before it is whole.
    """

    _blobs: bool
    _left: int = limits.SQL_RESULT_BYTES

    def add(self, size: int) -> None:
        """
        Add to the size.

        :raise BridgeError: It is too large.
        """
        self._left -= size
        if self._left < 0:
            raise _too_large(f"{limits.SQL_RESULT_BYTES} bytes")

    def text(self, raw: bytes) -> str:
        """Read a text; what is not UTF-8 in it is replaced."""
        # As ``add``, without a call: this is half the time of a large result.
        self._left -= len(raw) + _QUOTES_BYTES
        if self._left < 0:
            self.add(0)
        return str(raw, "utf-8", "replace")

    def value(self, found: Any) -> Any:
        """Write a value that is no text as JSON can have it."""
        kind = type(found)
        if kind is int:
            self._left -= _NUMBER_BYTES
            if self._left < 0:
                self.add(0)
            return found if -SAFE_INTEGER <= found <= SAFE_INTEGER else str(found)
        if kind is bytes:
            return self._blob(found)
        if found is None:
            self.add(_NULL_BYTES)
            return None
        self.add(_NUMBER_BYTES)
        return found if math.isfinite(found) else None

    def _blob(self, blob: bytes) -> dict[str, Any]:
        self.add(_BLOB_BYTES)
        if not self._blobs:
            return {"blobBytes": len(blob)}
        self.add(len(blob) * 4 // 3)
        text = base64.b64encode(blob).decode("ascii")
        return {"blobBytes": len(blob), "base64": text}


def collect(cursor: sqlite3.Cursor, meter: Meter) -> Rows:
    """
    Read all rows.

    :raise BridgeError: They are too many, or too large: a character can take six bytes.
    """
    if len(cursor.description) > limits.SQL_COLUMNS:
        # Before the first row is read: blobs are measured only when it is whole.
        raise _too_large(f"{limits.SQL_COLUMNS} columns")
    columns = [description[0] for description in cursor.description]
    names = len("".join(columns).encode("utf-8", "replace"))
    text = bytearray()
    add, value = meter.add, meter.value
    for number, row in enumerate(cursor):
        if number == limits.SQL_ROWS:
            raise _too_large(f"{limits.SQL_ROWS} rows")
        add(names)
        values = [v if type(v) is str else value(v) for v in row]
        text += b","
        text += orjson.dumps(dict(zip(columns, values)))  # noqa: B905 (SQLite counts them)
        if len(text) > limits.SQL_RESULT_JSON_BYTES:
            raise _too_large(f"{limits.SQL_RESULT_JSON_BYTES} bytes as JSON")
    rows: Any = orjson.Fragment(b"".join((b"[", memoryview(text)[1:], b"]")))
    return Rows(columns, rows)


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
            return self._run(self._connect(), query)
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
        if self._opened is not None and found == self._opened.identity:
            return self._opened
        self.close()
        opened = open_database(self.path, found)
        opened.connection.set_authorizer(self._authorizer)
        opened.connection.set_progress_handler(self._look, _STEPS_BETWEEN_LOOKS)
        self._opened = opened
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
