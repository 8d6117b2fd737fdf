"""
What a statement may do: SQLite asks about each action when it prepares one.

An allow-list: what is not named is refused, whatever SQLite learns in later versions.
See https://www.sqlite.org/c3ref/set_authorizer.html.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from ..classes import define
from ..protocol.limits import (
    SQL_FUNCTION_CALLS,
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
        refusal = self._refusal_of(action, second)
        if refusal is None:
            return sqlite3.SQLITE_OK
        self.refusal = refusal
        return sqlite3.SQLITE_DENY

    def _refusal_of(self, action: int, function: str | None) -> str | None:
        if action in (
            sqlite3.SQLITE_SELECT,
            sqlite3.SQLITE_READ,
            sqlite3.SQLITE_RECURSIVE,
        ):
            return None
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
