"""
Every comparison in one run: ``python -m benchmarks [FOLDER]``.

Each is measured in rounds, in turns with its peer; the best round of both counts, since
whatever else the machine does only adds to a time.  Prints a table, and writes
``run.json`` and the plots of growth to ``FOLDER``, by default ``docs/performance``, and
the tables to ``docs/performance.md``.  It takes about ten minutes.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from bridge.concurrency.threads import Pool
from bridge.plugins.installed.trees import Trees
from bridge.store import Put, Store
from bridge.system.memory import map_large_blocks
from tests.plugins.operations.bench import PROFILE

from . import (
    call,
    firstuse,
    idle,
    install,
    outbound,
    rebuild,
    sockets,
    sql,
    start,
    state,
    validation,
)
from .start import ROOT
from .table import Curve, Row, as_text, write

PAGE: Final = ROOT / "docs" / "performance.md"
GROWN_SETTING_BYTES: Final = 4000


def in_processes() -> list[Row]:
    """Compare what is measured from outside: starts, idle daemons and sockets."""
    ours, theirs = start.measure()
    web = min(one.seconds for one in theirs) * 1000
    first = min(one.seconds for one in ours) * 1000
    rows = [Row("start to first answer", first, "ms", 1.6, web, "twistd web")]
    worst = max(firstuse.measure().values())
    rows.append(Row("first use of any service, longer", worst * 1e3, "ms", 150))
    with tempfile.TemporaryDirectory() as home:
        still = idle.measure_idle(Path(home))
    rows.append(Row("wake-ups a second, idle", still.wakeups, "", 0))
    rows.append(Row("resident memory, idle", still.mebibytes, "MiB", 66))
    with tempfile.TemporaryDirectory() as home:
        used = idle.measure_used(Path(home))
    rows.append(Row("resident memory, all services used", used, "MiB", 80))
    return [*rows, *_over_sockets()]


def _over_sockets() -> list[Row]:
    rows = []
    for load, servers in sockets.measure().items():
        ours = servers.pop("plugin-bridge")
        for peer, theirs in servers.items():
            if load == "one socket":
                one, other = (min(s.median for s in all_) for all_ in (ours, theirs))
                rows.append(Row(f"round trip, {load}", one, "us", 1.5, other, peer))
                continue
            goal = 0.6 if load == "64 sockets" else 1.0
            best, their_best = (max(s.rate for s in all_) for all_ in (ours, theirs))
            rows.append(
                Row(f"calls, {load}", best, "/s", goal, their_best, peer, more=True)
            )
    return rows


async def in_this_process(reactor: Any) -> list[Row]:
    """Compare what is measured from inside."""
    rows = []
    # As the daemon does: the C library keeps to its rules for memory, and, when all is
    # loaded, collections look at nothing of this.
    map_large_blocks()
    gc.collect()
    gc.freeze()
    rows += _in_memory()
    mine, alone = map(min, await rebuild.measure(reactor))
    name = f"rebuild with {rebuild.PLUGINS} plugins"
    rows.append(Row(name, mine * 1e3, "ms", 1.6, alone * 1e3, "esbuild"))
    steps = {k: min(v) for k, v in (await install.measure(reactor, 3)).items()}
    with_scan, without = install.rest(steps)
    name = "install, 2 MB, less clone and the build's bundler"
    rows.append(Row(name, with_scan * 1e3, "ms", 400))
    name = "install, 2 MB, less the scan's bundler, too"
    rows.append(Row(name, without * 1e3, "ms", 400))
    one, hand, many = map(min, await state.measure(reactor))
    rows.append(Row("one setting", one * 1e3, "ms", 1.6, hand * 1e3, "by hand"))
    name = f"{state.AT_ONCE} settings at once, as fast"
    rows.append(Row(name, one / many, "x", 20, more=True))
    for name, (ours, theirs, _) in sql.measure(40).items():
        us = min(ours) * 1e6, min(theirs) * 1e6
        rows.append(Row(f"SQL, {name}", us[0], "us", 2.5, us[1], "sqlite3"))
    for name, (own, base) in (await outbound.measure(reactor, 100)).items():
        rows.append(Row(f"fetch of {name}", min(own), "ms", 1.15, min(base), "treq"))
    return rows


def _in_memory() -> list[Row]:
    """Compare what needs neither a kernel nor a disk."""
    with tempfile.TemporaryDirectory() as directory:
        stack = call.open_stack(Path(directory) / "state.json")
        one = min(call.of_a_call(stack, 1) for _ in range(10))
    rows = [Row("a call, in the process", one, "us", 15)]
    peers = validation.best_of(validation.measure())
    ours = peers.pop("plugin-bridge")
    for peer, theirs in peers.items():
        rows.append(Row("check of a notification", ours, "us", 8, theirs, peer))
    return rows


async def growth(reactor: Any) -> list[Curve]:
    """Measure how the time of a call, a rebuild and a setting grows."""
    by_size, by_count = sockets.growth(
        [200, 20_000, 60_000, 120_000, 200_000], [1, 8, 16, 32, 64]
    )
    by_plugins = []
    for count in (1, 10, 20, 40):
        with tempfile.TemporaryDirectory() as directory:
            shop, records = rebuild.prepare(Path(directory), count)
            trees, builder = Trees(shop.data, PROFILE, lambda: ""), shop.builder()
            times = [
                await rebuild.rebuild(shop, trees, builder, records) for _ in range(6)
            ]
            by_plugins.append((float(count), min(times) * 1000))
    return [
        Curve("call, us by size of the answer", "bytes", by_size),
        Curve("call, us by sockets that call", "sockets", by_count),
        Curve("rebuild, ms by plugins", "plugins", by_plugins),
        Curve("setting, ms by size of the state", "KiB", await _by_state(reactor)),
    ]


async def _by_state(reactor: Any) -> list[tuple[float, float]]:
    found = []
    pool = Pool(reactor, "disk", 1)
    pool.start()
    for kib in (4, 256, 512, 1024, 2048):
        with tempfile.TemporaryDirectory() as directory:
            store = Store.open(Path(directory) / "state.json", pool.call)
            value = "x" * GROWN_SETTING_BYTES
            count = kib * 1024 // GROWN_SETTING_BYTES
            await store.commit([Put("host", str(n), value) for n in range(count)])
            times = [await state.one(store, number) for number in range(12)]
            found.append((float(kib), min(times) * 1000))
    pool.stop()
    return found


async def _run(reactor: Any, folder: Path, rows: list[Row]) -> None:
    rows += await in_this_process(reactor)
    curves = await growth(reactor)
    print(as_text(rows))
    when = time.strftime("%d %B %Y").lstrip("0")
    write(folder, PAGE, when, (rows, curves))


def main() -> None:
    """Measure everything."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "performance"
    folder.mkdir(parents=True, exist_ok=True)
    rows = in_processes()
    react(lambda reactor: Deferred.fromCoroutine(_run(reactor, folder, rows)))


if __name__ == "__main__":
    main()
