"""
Time to read a database: a kept ``Reader`` against Python's ``sqlite3`` alone.

Run ``python -m benchmarks.sql``.  Both read the same rows of the same file, warm, and
as objects by column; SQLite's own module does so without limits and without questions.
"""

from __future__ import annotations

import contextlib
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bridge.databases.reader import Query, Reader

ROUNDS = 15
STATEMENTS = {
    "one row by key": ("SELECT name, url FROM images WHERE id = ?1", [4711], 500),
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


def longest_gap(work: Callable[[], object]) -> float:
    """Measure how long another thread was kept from running, in seconds."""
    gaps, done = [0.0], threading.Event()

    def watch() -> None:
        last = time.perf_counter()
        while not done.is_set():
            time.sleep(0.0005)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    watching = threading.Thread(target=watch)
    watching.start()
    for _ in range(10):
        work()
    done.set()
    watching.join()
    return max(gaps)


def measure(
    rounds: int = ROUNDS,
) -> dict[str, tuple[list[float], list[float], float]]:
    """
    Read by a ``Reader`` and by sqlite3, in turns.

    :return: By statement: the seconds of both, and for how long another thread was kept
        from running, at worst.
    """
    found = {}
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
                return [dict(row) for row in plain.execute(sql, params)]

            both: tuple[list[float], list[float]] = ([], [])
            for _ in range(rounds):
                both[0].append(seconds(ours, times))
                both[1].append(seconds(theirs, times))
            found[name] = *both, longest_gap(ours)
        reader.close()
        plain.close()
    return found


def main() -> None:
    """Measure, and print a table."""
    for name, (ours, theirs, gap) in measure().items():
        one, other = statistics.median(ours), statistics.median(theirs)
        print(
            f"{name:18} {one * 1e6:8.0f} us, sqlite3 {other * 1e6:8.0f} us"
            f" ({one / other:.2f}); longest gap {gap * 1000:.1f} ms"
        )


if __name__ == "__main__":
    main()
