"""
What the daemon costs while nobody needs it: wake-ups, and resident memory.

A daemon is measured a while after its start; another one, with ``--dev``, after every
service was really used: a database opened, an address fetched, a plugin installed,
built and uninstalled.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from attrs import frozen

from tests.whole.daemon import environment

from .load import mebibytes
from .soak import NEEDED, soaking
from .table import Row

REST_SECONDS = 5.0
COUNTED_SECONDS = 20.0
PATIENCE_SECONDS = 120.0
SETTLE_SECONDS = 3.0


@frozen
class Idle:
    """
    A daemon at rest.

    :ivar wakeups: How often its main thread was woken in a second.
    :ivar mebibytes: Its resident memory.
    """

    wakeups: float
    mebibytes: float


def _status(process: int, name: str) -> int:
    text = Path(f"/proc/{process}/status").read_text("ascii")
    found = re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE)
    assert found is not None
    return int(found[1])


def measure_idle(home: Path) -> Idle:
    """Start a daemon, and measure it while it has no page."""
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "bridge", "run", "--host=reference"),
            *("--listen=127.0.0.1:0", f"--data-dir={home / 'data'}"),
        ],
        cwd=home,
        env=environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        time.sleep(REST_SECONDS)
        before = _status(process.pid, "voluntary_ctxt_switches")
        time.sleep(COUNTED_SECONDS)
        woken = _status(process.pid, "voluntary_ctxt_switches") - before
        kibibytes = _status(process.pid, "VmRSS")
        process.terminate()
    return Idle(woken / COUNTED_SECONDS, kibibytes / 1024)


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
        idle = measure_idle(Path(home))
    with tempfile.TemporaryDirectory() as home:
        used = measure_used(Path(home))
    return [
        Row("wake-ups a second, idle", idle.wakeups, "", 0),
        Row("resident memory, idle", idle.mebibytes, "MiB", 66),
        Row("resident memory, all services used", used, "MiB", 80),
    ]
