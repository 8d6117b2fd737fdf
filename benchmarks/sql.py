"""
Time to read a database: a kept ``Reader`` against Python's ``sqlite3`` alone.

Both read the same rows of the same file, warm, and write them as JSON objects;
SQLite's own module does so without limits and without questions.
"""

import contextlib
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bridge.databases.reader import Query, Reader
from bridge.protocol.strictjson import dumps

from .table import Row

ROUNDS = 40
STATEMENTS = {
    "one row by key": ("SELECT name, url FROM images WHERE id = ?1", [4711], 50),
    "10 000 rows": ("SELECT id, name, url FROM images LIMIT 10000", [], 1),
    "count of a search": ("SELECT count(*) FROM images WHERE name LIKE '%9'", [], 5),
}


def make(path: Path) -> None:
    """Make a database of 20 000 rows."""
    with contextlib.closing(sqlite3.connect(path)) as owner:
        owner.execute("CREATE TABLE images (id INTEGER PRIMARY KEY, name, url)")
        rows = (
            (n, f"image {n}", f"https://images.example/{n:064}") for n in range(20_000)
        )
        owner.executemany("INSERT INTO images VALUES (?, ?, ?)", rows)
        owner.commit()


def seconds(read: Callable[[], object], times: int) -> float:
    """Measure one call."""
    begun = time.perf_counter()
    for _ in range(times):
        read()
    return (time.perf_counter() - begun) / times


async def rows(reactor: Any) -> list[Row]:
    """Read by a ``Reader`` and by sqlite3, in turns."""
    found = []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "images.db"
        make(path)
        reader = Reader(path, time.monotonic)
        plain = sqlite3.connect(path)
        plain.row_factory = sqlite3.Row
        for name, (sql, params, times) in STATEMENTS.items():

            def ours(sql: str = sql, params: list[int] = params) -> object:
                return reader.read(Query(sql, [*params]))

            def theirs(sql: str = sql, params: list[int] = params) -> object:
                return dumps([dict(row) for row in plain.execute(sql, params)])

            own, base = [], []
            for _ in range(ROUNDS):
                own.append(seconds(ours, times) * 1e6)
                base.append(seconds(theirs, times) * 1e6)
            found.append(Row(f"SQL, {name}", min(own), "us", 2.5, min(base), "sqlite3"))
        reader.close()
        plain.close()
    return found
