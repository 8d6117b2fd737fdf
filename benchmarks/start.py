"""
Time and memory to start: the daemon against a bare Twisted web server.

Run ``python -m benchmarks.start``.  Both are started alternately by the same Python,
with an empty home; time is until the port answers.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from attrs import frozen

ROUNDS = 7
ROOT = Path(__file__).parents[1]
_RUN = "from twisted.scripts.twistd import run; run()"
_COMMANDS = {
    "bare twistd web": (
        ["web", "--listen=tcp:0:interface=127.0.0.1", "--path=."],
        r"Site starting on \d+",
    ),
    "plugin-bridge": (
        ["bridge", "--host=reference", "--listen=127.0.0.1:0", "--data-dir=data"],
        r"listening on http",
    ),
}


@frozen
class Start:
    """One start: seconds until it listens, and its resident MiB then."""

    seconds: float
    mebibytes: float


def start(arguments: list[str], ready: str, home: Path) -> Start:
    """Start a daemon, and end it."""
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT)}
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", _RUN, "-n", "--pidfile=", *arguments],
        cwd=home,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if re.search(ready, line):
            break
    else:
        raise SystemExit(f"{arguments[0]} did not start")
    seconds = time.perf_counter() - begun
    status = Path(f"/proc/{process.pid}/status").read_text("ascii")
    kibibytes = re.search(r"VmRSS:\s+(\d+)", status)
    assert kibibytes is not None
    process.terminate()
    process.stdout.read()
    process.wait()
    process.stdout.close()
    return Start(seconds, int(kibibytes[1]) / 1024)


def main() -> None:
    """Measure, and print a table."""
    found: dict[str, list[Start]] = {name: [] for name in _COMMANDS}
    with tempfile.TemporaryDirectory() as home:
        for _ in range(ROUNDS):
            for name, (arguments, ready) in _COMMANDS.items():
                found[name].append(start(arguments, ready, Path(home)))
    base: Start | None = None
    for name, starts in found.items():
        one = Start(
            statistics.median(s.seconds for s in starts),
            statistics.median(s.mebibytes for s in starts),
        )
        base = base or one
        print(
            f"{name:16} {one.seconds * 1000:6.0f} ms ({one.seconds / base.seconds:.2f})"
            f" {one.mebibytes:6.1f} MiB ({one.mebibytes / base.mebibytes:.2f})"
        )


if __name__ == "__main__":
    main()
