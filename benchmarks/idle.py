"""
What the daemon costs while nobody needs it: wake-ups, and resident memory.

A daemon is measured a while after its start; another one, with ``--dev``, after every
service was really used: a database opened, an address fetched, a plugin installed,
built and uninstalled.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

from tests.e2e.daemon import running

from .load import mebibytes
from .soak import NEEDED, soaking
from .table import Row

REST_SECONDS = 5.0
COUNTED_SECONDS = 20.0
PATIENCE_SECONDS = 120.0
SETTLE_SECONDS = 3.0


def measure_idle(home: Path) -> tuple[float, float]:
    """Return the wake-ups a second and the MiB of a daemon that has no page."""
    with running(home) as daemon:
        time.sleep(REST_SECONDS)
        before = daemon.switches()
        time.sleep(COUNTED_SECONDS)
        woken = daemon.switches() - before
        return woken / COUNTED_SECONDS, mebibytes(daemon)


def measure_used(home: Path) -> float:
    """Return the MiB of a daemon each of whose services was used."""
    with soaking(home, 1.0) as soak:
        soak.author.begin()
        end = time.monotonic() + PATIENCE_SECONDS
        while NEEDED - soak.tally.answered.keys():
            assert time.monotonic() < end, NEEDED - soak.tally.answered.keys()
            time.sleep(0.2)
        soak.probed.collect()
        time.sleep(SETTLE_SECONDS)
        return mebibytes(soak.probed.daemon)


async def rows(reactor: Any) -> list[Row]:
    """Measure both daemons."""
    with tempfile.TemporaryDirectory() as home:
        wakeups, idle = measure_idle(Path(home))
    with tempfile.TemporaryDirectory() as home:
        used = measure_used(Path(home))
    return [
        Row("wake-ups a second, idle", wakeups, "", 0),
        Row("resident memory, idle", idle, "MiB", 66),
        Row("resident memory, all services used", used, "MiB", 80),
    ]
