"""Databases for tests to read."""

import contextlib
import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bridge.databases.reader import Rows
from bridge.protocol.strictjson import dumps

PLACES = (
    "CREATE TABLE places (id INTEGER PRIMARY KEY, name TEXT, picture BLOB)",
    "INSERT INTO places VALUES (1, 'Harbour', x'00ff00ff'), (2, 'Market', NULL)",
    "CREATE TABLE numbers (n INTEGER)",
    "INSERT INTO numbers WITH RECURSIVE r(n) AS "
    "(SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 20000) SELECT n FROM r",
)
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "


def make_database(path: Path, statements: Iterable[str] = PLACES) -> Path:
    """Make a database, as its owner does."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as owner:
        for statement in statements:
            owner.execute(statement)
    return path


def written(found: Rows) -> list[dict[str, Any]]:
    """Return rows as a page receives them."""
    rows: list[dict[str, Any]] = json.loads(dumps(found.rows))
    return rows
