"""
A durable setting, against what it can't do without: write, fsync, rename, fsync.

The store writes in a thread, keeps the generation
before, and answers when all is durable.  64 settings at once share their writes.
"""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from twisted.internet.defer import gatherResults

from bridge.concurrency.threads import Pool
from bridge.store.state import Put
from bridge.store.store import Store
from bridge.system.files import sync_directory

from .table import Row

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


async def rows(reactor: Any) -> list[Row]:
    """Set one value, one by hand, and many at once, in turns; the best of each."""
    ones, hands, manys = [], [], []
    pool = Pool(reactor, "disk", 1)
    pool.start()
    try:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "state.json"
            store = Store.open(path, pool.call)
            await one(store, -1)
            for number in range(ROUNDS):
                ones.append(await one(store, number))
                hands.append(by_hand(path.with_name("hand"), path.read_bytes()))
                manys.append(await at_once(store, number))
    finally:
        pool.stop()
    best, hand = min(ones), min(hands)
    name = f"{AT_ONCE} settings at once, as fast"
    return [
        Row("one setting", best * 1000, "ms", 1.6, hand * 1000, "by hand"),
        Row(name, best / min(manys), "x", 20, more=True),
    ]
