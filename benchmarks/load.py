"""
A page's round trips alone, and next to pages and programs that behave badly.

Run ``python -m benchmarks.load``, or with the names of some abuses.  One daemon, one
page that asks for a setting a hundred times a second; alongside it, in a process of its
own, one abuse after the other.  For each it prints the round trips, the daemon's memory
before, at most and after, and how often of 20 times another page connected in time.

It exits with 1 when something is beyond its limit.
"""

import contextlib
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from attrs import frozen

from tests.e2e.daemon import Daemon, set_up
from tests.rawsocket import RawSocket

from .abuses import ABUSES, attacking
from .flooding import paired, request
from .probe import SILENT_PORT, probed

SECONDS: Final = 6.0
PER_SECOND: Final = 100
SINKS: Final = ("--sink=overlay", "--sink=xsoverlay", "--sink=freedesktop")
OPTIONS: Final = ("--rate=200", "--burst=200", *SINKS)
TRIES: Final = 20
CONNECT_SECONDS: Final = 2.0
SETTLED_SECONDS: Final = 6.0

# What is promised next to an abuse, on a machine with a processor for each side.
P99_MS: Final = 250.0
GROWN_MIB: Final = 20.0
CONNECTED: Final = 19


@frozen
class Trips:
    """The round trips of one page, in milliseconds."""

    median: float
    p99: float
    worst: float


@frozen
class Row:
    """
    What an abuse did.

    :ivar before: The daemon's resident memory, in MiB.
    :ivar peak: The most it had meanwhile.
    :ivar after: What it had some seconds later.
    :ivar busy: How much of the time the daemon ran, 0 to 1.
    :ivar waited: How much of the time it was ready to run, and others had the
        processors.  When that is much, the round trips measure the machine.
    :ivar connected: How many of 20 pages connected in time.
    """

    name: str
    trips: Trips
    before: float
    peak: float
    after: float
    busy: float
    waited: float
    connected: int

    def beyond(self) -> list[str]:
        """Name the limits it is beyond."""
        found = []
        if self.trips.p99 > P99_MS:
            found.append(f"p99 over {P99_MS:.0f} ms")
        if self.after - self.before > GROWN_MIB:
            found.append(f"over {GROWN_MIB:.0f} MiB kept")
        if self.connected < CONNECTED:
            found.append(f"fewer than {CONNECTED} connects")
        return found


def measure(page: RawSocket) -> Trips:
    """Ask so many times a second, and note how long each answer takes."""
    taken: list[float] = []
    end = time.monotonic() + SECONDS
    for number in itertools.count():
        begun = time.perf_counter()
        page.send(request(number))
        assert page.answer()["ok"], "a call was refused"
        taken.append((time.perf_counter() - begun) * 1000)
        if time.monotonic() > end:
            break
        time.sleep(1 / PER_SECOND)
    p99 = statistics.quantiles(taken, n=100)[98]
    return Trips(statistics.median(taken), p99, max(taken))


def mebibytes(daemon: Daemon, kind: str = "VmRSS") -> float:
    """Return the daemon's memory in MiB."""
    return daemon.memory(kind) / 1024


def forget_peak(daemon: Daemon) -> None:
    """Have the kernel count the most memory from now on."""
    Path(f"/proc/{daemon.process.pid}/clear_refs").write_text("5", "ascii")


def descriptors(daemon: Daemon) -> int:
    """Return how many files and sockets the daemon has open."""
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def processor_seconds(daemon: Daemon) -> tuple[float, float]:
    """Return how long the reactor's thread has run, and waited for a processor."""
    stat = Path(f"/proc/{daemon.process.pid}/schedstat").read_text("ascii")
    ran, waited = stat.split()[:2]
    return int(ran) / 1e9, int(waited) / 1e9


def connect_in_time(daemon: Daemon) -> int:
    """Count the tries of a page to connect, each alone, that take under 2 s."""
    connected = 0
    for _ in range(TRIES):
        begun = time.monotonic()
        with contextlib.suppress(AssertionError, OSError):
            with daemon.page() as page:
                welcome = page.welcome["type"] == "welcome"
            connected += welcome and time.monotonic() - begun < CONNECT_SECONDS
        time.sleep(0.1)
    return connected


def row(
    name: str, daemon: Daemon, abuse: contextlib.AbstractContextManager[None]
) -> Row:
    """Measure a page next to an abuse."""
    before = mebibytes(daemon)
    forget_peak(daemon)
    # A page of its own, since a page that reads nothing for long is dropped.
    page = paired(daemon.port, daemon.token)
    with abuse:
        time.sleep(2.0)
        earlier, begun = processor_seconds(daemon), time.monotonic()
        trips = measure(page)
        seconds = time.monotonic() - begun
        busy, waited = (
            (now - then) / seconds
            for now, then in zip(processor_seconds(daemon), earlier, strict=True)
        )
        page.socket.close()
        connected = connect_in_time(daemon)
    peak = mebibytes(daemon, "VmHWM")
    time.sleep(SETTLED_SECONDS)
    after = mebibytes(daemon)
    return Row(name, trips, before, peak, after, busy, waited, connected)


def rows(home: Path, names: Sequence[str]) -> Iterator[Row]:
    """Measure a page alone, next to each abuse, and alone again."""
    with probed(home, SILENT_PORT, *OPTIONS) as found:
        daemon = found.daemon
        yield row("alone", daemon, contextlib.nullcontext())
        for name in names:
            yield row(name, daemon, attacking(name, daemon))
        yield row("alone, after", daemon, contextlib.nullcontext())


def report_abuses(home: Path, names: Sequence[str]) -> bool:
    """Print a table of the abuses; return whether all of it is within the limits."""
    set_up(home)
    within = True
    print(
        f"{'':18}  p50 ms  p99 ms worst ms   MiB before   peak  after  "
        f"   ran waited  of {TRIES} connect"
    )
    for found in rows(home, names):
        beyond = found.beyond()
        within = within and not beyond
        print(
            f"{found.name:18}{found.trips.median:8.1f}{found.trips.p99:8.1f}"
            f"{found.trips.worst:9.1f}{found.before:13.1f}{found.peak:7.1f}"
            f"{found.after:7.1f}{found.busy:7.0%}{found.waited:7.0%}{found.connected:14}"
            + "".join(f"  ! {limit}" for limit in beyond),
            flush=True,
        )
    return within


def main(names: Sequence[str]) -> int:
    """Measure; return the exit status."""
    with tempfile.TemporaryDirectory() as home:
        return 0 if report_abuses(Path(home), names or tuple(ABUSES)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
