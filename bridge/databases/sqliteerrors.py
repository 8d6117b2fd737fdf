"""
The errors that a caller sees when SQLite fails.

SQLite's own messages quote the statement, and name tables, files and functions: only
the kind of mistake is repeated.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from ..protocol.errors import BridgeError, Code, bad_request
from ..protocol.limits import SQL_SECONDS

# Parts of SQLite's messages, and the words reported for them.
_MISTAKES: Final = (
    ("no such table", "no such table"),
    ("no such column", "no such column"),
    ("no such function", "no such function"),
    ("ambiguous column", "a column name is ambiguous"),
    ("wrong number of arguments", "a function has the wrong number of arguments"),
    ("misuse of", "an aggregate or a window function stands where none can"),
    ("syntax error", "a syntax error"),
    ("unrecognized token", "a syntax error"),
    ("incomplete input", "it is incomplete"),
    ("too large", "it is too large or nested too deep"),
    ("too many", "it has too many columns, terms or tables"),
    ("stack overflow", "it is too large or nested too deep"),
    ("too complex", "a pattern of LIKE or GLOB is too long"),
    ("integer overflow", "a number is too large"),
    ("variable number", "a placeholder's number is too high"),
    ("may not be modified", "the database is readonly"),
    ("malformed JSON", "a value is not JSON"),
    ("unsafe use of", "a view does what it must not"),
)

_CODES: Final = {
    sqlite3.SQLITE_INTERRUPT: f"it took longer than {SQL_SECONDS * 1000:.0f} ms",
    sqlite3.SQLITE_TOOBIG: "a value is too long, for reading or for its functions",
    # SQLite has one code for both.
    sqlite3.SQLITE_NOMEM: "it takes too much memory, or has too many steps",
}

_STATES: Final = {
    sqlite3.SQLITE_BUSY: "the database is busy; ask again",
    sqlite3.SQLITE_LOCKED: "the database is busy; ask again",
    sqlite3.SQLITE_CORRUPT: "the database is damaged",
    sqlite3.SQLITE_NOTADB: "the file is not an SQLite database",
    sqlite3.SQLITE_CANTOPEN: "the database cannot be opened",
    # An extended code, and no state of the file that stays.
    sqlite3.SQLITE_READONLY_ROLLBACK: (
        "the database has half a change in it; start its application, which undoes that"
    ),
}

_PRIMARY: Final = 0xFF  # extended result codes keep the primary one here


def primary_code(error: Exception) -> int | None:
    """
    Return SQLite's primary result code, if the error came from SQLite.

    A database that would have to be written to before it can be read, such as one with
    a log to recover, counts as one that can't be opened.
    """
    if isinstance(error, MemoryError):
        return sqlite3.SQLITE_NOMEM
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return None
    primary = code & _PRIMARY
    return sqlite3.SQLITE_CANTOPEN if primary == sqlite3.SQLITE_READONLY else primary


def refused(why: str) -> BridgeError:
    """Return the refusal of a statement."""
    return bad_request(f"sqlite refused the statement: {why}")


def refusal(error: Exception) -> BridgeError:
    """Convert an error of SQLite, or of Python's module for it."""
    if isinstance(error, UnicodeDecodeError):
        return BridgeError(Code.INTERNAL, "the database has names that are not UTF-8")
    code, message = primary_code(error), str(error)
    if code in _CODES:
        return refused(_CODES[code])
    if code == sqlite3.SQLITE_ERROR:
        mistakes = (ours for theirs, ours in _MISTAKES if theirs in message)
        return refused(next(mistakes, "it cannot be prepared or run"))
    if code is None:
        return _misuse(message)
    state = _STATES.get(code, "the database cannot be read now")
    extended = getattr(error, "sqlite_errorcode", code)
    return BridgeError(Code.INTERNAL, _STATES.get(extended, state))


def _misuse(message: str) -> BridgeError:
    if "bindings" in message:
        return bad_request("params: must be one for each placeholder of the statement")
    return refused("one statement per call")
