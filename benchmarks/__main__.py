"""
Every comparison in one run: ``python -m benchmarks``.

Each is measured in rounds, in turns with its peer; the best round of both counts, since
whatever else the machine does only adds to a time.  Prints a table, after some minutes.
"""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from bridge.system.memory import map_large_blocks

from . import clone, idle, outbound, rebuild, sockets, sql, start, state
from .table import Row, as_text


def in_processes() -> list[Row]:
    """Compare what is measured from outside: starts, idle daemons and sockets."""
    ours, theirs = start.measure()
    web = min(one.seconds for one in theirs) * 1000
    first = min(one.seconds for one in ours) * 1000
    rows = [Row("start to first answer", first, "ms", 1.6, web, "twistd web")]
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
    mine, alone = map(min, await rebuild.measure(reactor))
    name = f"rebuild with {rebuild.PLUGINS} plugins"
    rows.append(Row(name, mine * 1e3, "ms", 1.6, alone * 1e3, "esbuild"))
    cloned, by_git = map(min, await clone.measure(reactor))
    rows.append(Row("clone, 4 MB", cloned, "s", 1.1, by_git, "git"))
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


async def _run(reactor: Any, rows: list[Row]) -> None:
    print(as_text(rows + await in_this_process(reactor)))


def main() -> None:
    """Measure everything."""
    rows = in_processes()
    react(lambda reactor: Deferred.fromCoroutine(_run(reactor, rows)))


if __name__ == "__main__":
    main()
