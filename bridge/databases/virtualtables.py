"""
Which virtual tables a statement opens, as its program has it.

SQLite 3.46 asks its authorizer when a connection first meets one, and 3.53 does not.
Names prove nothing, as the schema may be a hostile author's.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Sequence
from typing import Final

EXPLAIN: Final = "EXPLAIN "
_IS_EXPLAIN: Final = re.compile(r"\s*EXPLAIN\b", re.IGNORECASE | re.ASCII)
_READ_JSON: Final = {
    "json_each": "SELECT 1 FROM json_each('[]')",
    "json_tree": "SELECT 1 FROM json_tree('[]')",
}

Tables = frozenset[bytes]
"""Virtual tables, as SQLite shows them in programs of one connection."""


def opened_tables(
    connection: sqlite3.Connection, sql: str, params: Sequence[object] = ()
) -> Tables:
    """
    Return the virtual tables that a statement opens; it is prepared, not run.

    :raise sqlite3.Error: It can't be prepared.
    """
    if _IS_EXPLAIN.match(sql):
        return frozenset()  # it opens nothing itself
    # A name may be no UTF-8.
    connection.text_factory = bytes
    program = connection.execute(EXPLAIN + sql, params)
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
