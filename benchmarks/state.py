"""
A durable setting, against what it can't do without: write, fsync, rename, fsync.

Run ``python -m benchmarks.state``.  The store writes in a thread, keeps the generation
before, and answers when all is durable.  64 settings at once share their writes.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import react

from bridge.concurrency.threads import Pool
from bridge.store import Put
from bridge.store.store import Store
from bridge.system.files import sync_directory

ROUNDS = 40
AT_ONCE = 64
VALUE = "x" * 200


def by_hand(path: Path, content: bytes) -> float:
    """Replace a file durably; the seconds it took."""
    begun = time.perf_counter()
    temporary = path.with_suffix(".new")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(fd, content)
    os.fsync(fd)
    os.close(fd)
    os.replace(temporary, path)
    sync_directory(path.parent)
    return time.perf_counter() - begun


async def one(store: Store, number: int) -> float:
    """Set one value; the seconds until it is durable."""
    begun = time.perf_counter()
    await store.commit([Put("host", "k", [number, VALUE])])
    return time.perf_counter() - begun


async def at_once(store: Store, number: int) -> float:
    """Set ``AT_ONCE`` values; the seconds for each."""
    begun = time.perf_counter()
    await gatherResults(
        [store.commit([Put("host", "k", [number, n, VALUE])]) for n in range(AT_ONCE)]
    )
    return (time.perf_counter() - begun) / AT_ONCE


async def measure(
    reactor: Any, rounds: int = ROUNDS
) -> tuple[list[float], list[float], list[float]]:
    """Return the seconds of one setting, of one by hand, and of one of many at once."""
    found: tuple[list[float], list[float], list[float]] = ([], [], [])
    pool = Pool(reactor, "disk", 1)
    pool.start()
    try:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "state.json"
            store = Store.open(path, pool.call)
            await one(store, -1)
            for number in range(rounds):
                found[0].append(await one(store, number))
                found[1].append(by_hand(path.with_name("hand"), path.read_bytes()))
                found[2].append(await at_once(store, number))
    finally:
        pool.stop()
    return found


async def _print(reactor: Any) -> None:
    ours, theirs, many = map(min, await measure(reactor))
    print(f"set {ours * 1000:.2f} ms / by hand {theirs * 1000:.2f} ms", end="")
    print(f" = {ours / theirs:.2f}; {AT_ONCE} at once are {ours / many:.0f} x as fast")


def main() -> None:
    """Measure, and print."""
    react(lambda reactor: Deferred.fromCoroutine(_print(reactor)))


if __name__ == "__main__":
    main()
