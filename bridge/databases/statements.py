"""
What a statement may do, and what is answered when SQLite refuses it or fails.

SQLite asks about each action when it prepares one.  An allow-list: what is not named is
refused, whatever SQLite learns in later versions.  See
https://www.sqlite.org/c3ref/set_authorizer.html.

SQLite's own messages quote the statement, and name tables, files and functions: only
the kind of mistake is repeated.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from ..classes import define
from ..protocol.errors import BridgeError, Code, bad_request
from ..protocol.limits import (
    SQL_FUNCTION_CALLS,
    SQL_SECONDS,
    SQL_SLOW_VALUE_BYTES,
    SQL_SLOWEST_VALUE_BYTES,
    SQL_VALUE_BYTES,
)

# SQLite asks for the same in both cases.
ONLY_READING: Final = (
    "only SELECT is allowed, the database is readonly; "
    "virtual tables, such as those of full-text search, cannot be read"
)
FUNCTION: Final = "it calls a function that is not allowed"
CALLS: Final = f"it calls more than {SQL_FUNCTION_CALLS} functions"

_READING: Final = frozenset(
    (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
)

# Their time is proportional to the length of their arguments.
QUICK: Final = frozenset(
    """
    avg count group_concat max min string_agg sum total abs char coalesce concat
    concat_ws hex if ifnull iif length likelihood likely lower nullif octet_length
    quote random round sign soundex sqlite_version substr substring typeof
    unicode unlikely upper current_date current_time current_timestamp date datetime
    julianday strftime time timediff unixepoch acos acosh asin asinh atan atan2
    atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow power
    radians sin sinh sqrt tan tanh trunc cume_dist dense_rank first_value lag
    last_value lead nth_value ntile percent_rank rank row_number
    """.split()  # noqa: SIM905 (one a line would be ninety lines)
)

# Theirs can be proportional to the product: on long values they could take hours, and
# nothing interrupts a function.
SLOW: Final = frozenset(
    """
    glob instr like replace -> ->> json json_array
    json_array_length json_error_position json_extract json_group_array
    json_group_object json_insert json_object json_quote json_remove
    json_replace json_set json_type json_valid
    """.split()  # noqa: SIM905 (one a line would be ninety lines)
)

# Theirs always is: each character, or key, of one with each of the other.
SLOWEST: Final = frozenset({"json_patch", "ltrim", "rtrim", "trim", "unhex"})

_VALUE_BYTES: Final = {
    **dict.fromkeys(QUICK, SQL_VALUE_BYTES),
    **dict.fromkeys(SLOW, SQL_SLOW_VALUE_BYTES),
    **dict.fromkeys(SLOWEST, SQL_SLOWEST_VALUE_BYTES),
}


@define
class StatementAuthorizer:
    """
    Answers SQLite's questions about one statement; an authorizer of a connection.

    :ivar refusal: Why the statement was refused, if it was.
    :ivar value_bytes: How long values may be for the functions that it calls.
    """

    refusal: str | None = None
    value_bytes: int = SQL_VALUE_BYTES
    _calls: int = 0

    def begin(self) -> None:
        """Start with another statement."""
        self.refusal, self.value_bytes, self._calls = None, SQL_VALUE_BYTES, 0

    def __call__(
        self,
        action: int,
        first: str | None,
        second: str | None,
        database: str | None,
        source: str | None,
    ) -> int:
        """Return whether the statement may do that, as SQLite's code."""
        if action in _READING:
            return sqlite3.SQLITE_OK
        refusal = self._refusal_of(action, second)
        if refusal is None:
            return sqlite3.SQLITE_OK
        self.refusal = refusal
        return sqlite3.SQLITE_DENY

    def _refusal_of(self, action: int, function: str | None) -> str | None:
        if action != sqlite3.SQLITE_FUNCTION:
            return ONLY_READING
        self._calls += 1
        if self._calls > SQL_FUNCTION_CALLS:
            return CALLS
        most = _VALUE_BYTES.get(str(function).lower())
        if most is None:
            return FUNCTION
        self.value_bytes = min(self.value_bytes, most)
        return None


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
