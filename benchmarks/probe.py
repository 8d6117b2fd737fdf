"""
The daemon with a probe: what only its own process knows, written to a file.

``python -m benchmarks.probe FILE PORT run ...`` runs ``plugin-bridge run ...``; twice a
second it replaces ``FILE`` by a JSON object of ``Inside``.  On SIGUSR1 it collects
garbage, and on SIGUSR2 it also settles its table of strings.  ``outbound`` may fetch
from ``http://127.0.0.1:PORT`` and ``SILENT_PORT`` as well, so that nothing leaves the
machine.  The product contains none of this.
"""

import contextlib
import ctypes
import gc
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from attrs import asdict, frozen

if TYPE_CHECKING:
    from tests.e2e.daemon import Daemon

# What runs the daemon is not loaded by the daemon: it would be part of its memory.

SECONDS: Final = 0.5
SILENT_PORT: Final = 42071
"""Where fetches that are never answered go."""
_MORE_STRINGS: Final = 100_000
"""More than the table of interned strings has free places for in a daemon."""


@frozen
class Inside:
    """
    What the process counts.

    :ivar timers: The reactor's delayed calls, without the probe's own.
    :ivar blocks: The interpreter's allocated blocks of memory: what it still refers to,
        whatever the allocator has given back.
    :ivar heap: The bytes that the C library has handed out; 0 for one that can't count.
    """

    timers: int
    blocks: int
    heap: int


class _MallInfo(ctypes.Structure):
    """``struct mallinfo2`` of glibc 2.33, see mallinfo(3)."""

    _fields_: ClassVar = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks"),
            *("uordblks", "fordblks", "keepcost"),
        )
    ]


def heap_bytes() -> int:
    """Return the bytes that the C library has handed out, in its heaps or mapped."""
    count: Any = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if count is None:
        return 0
    count.restype = _MallInfo
    counted = count()
    return int(counted.uordblks + counted.hblkhd)


def settle_strings() -> None:
    """
    Give the table of interned strings the size that its content makes it have.

    A string that goes leaves its place taken until the table is full, and is rebuilt
    for what it holds.  For a daemon that is once in some minutes, and a step of 0.9 MiB
    that is no leak.
    """
    for number in range(_MORE_STRINGS):
        sys.intern(f"{number} of the probe")


def serve(file: Path, port: int, arguments: list[str]) -> int:
    """Run the daemon; return its exit status."""
    from twisted.internet import reactor

    from bridge.cli.main import main
    from bridge.http.target import AddressPolicy
    from bridge.wiring import services

    clock: Any = reactor
    also = frozenset(("127.0.0.1", one) for one in (port, SILENT_PORT))

    def write() -> None:
        # Its own call is not among them while it runs.
        timers = len(clock.getDelayedCalls())
        counted = Inside(timers, sys.getallocatedblocks(), heap_bytes())
        new = file.with_suffix(".new")
        new.write_text(json.dumps(asdict(counted)), "ascii")
        new.replace(file)
        clock.callLater(SECONDS, write)

    def collect(*_: object) -> None:
        gc.collect()

    def settle(*_: object) -> None:
        gc.collect()
        settle_strings()

    signal.signal(signal.SIGUSR1, collect)
    signal.signal(signal.SIGUSR2, settle)
    vars(services)["AddressPolicy"] = partial(AddressPolicy, also=also)
    clock.callWhenRunning(write)
    return main(arguments)


@frozen
class Probed:
    """A running daemon, and the file of its probe."""

    daemon: "Daemon"
    file: Path

    def collect(self) -> None:
        """
        Have it collect garbage, soon.

        Otherwise a quarter of its objects may be garbage that waits for a collection,
        more in one round than in the next, and would hide a leak of a few percent.
        """
        self.daemon.process.send_signal(signal.SIGUSR1)

    def settle(self) -> None:
        """Have it collect garbage and settle its table of strings, soon."""
        self.daemon.process.send_signal(signal.SIGUSR2)

    def inside(self) -> Inside:
        """Return what the process counted last; waits for its first count."""
        from tests.e2e.daemon import PATIENCE_SECONDS

        end = time.monotonic() + PATIENCE_SECONDS
        while not self.file.exists():
            assert time.monotonic() < end, "the probe wrote nothing"
            time.sleep(0.05)
        return Inside(**json.loads(self.file.read_text("ascii")))


@contextlib.contextmanager
def desktop() -> Iterator[dict[str, str]]:
    """Run a session bus with a notification server; the variables that name it."""
    from tests.freedesktop.buses import SessionBus

    bus = SessionBus()
    try:
        server = [sys.executable, "-m", "tests.freedesktop.server", bus.socket]
        with subprocess.Popen(server) as process:
            try:
                yield bus.environment
            finally:
                process.kill()
    finally:
        bus.remove()


@contextlib.contextmanager
def probed(home: Path, port: int, *options: str) -> Iterator[Probed]:
    """
    Run a daemon with a probe, and with a desktop, until the block ends.

    :param home: Contains its data directory, ``data``.
    :param port: Where ``outbound`` may fetch from.
    """
    from tests.e2e.daemon import Daemon, ending, popen

    file = home / "probe.json"
    line = [
        *(sys.executable, "-u", "-m", "benchmarks.probe", str(file), str(port)),
        *("run", "--host=reference", "--listen=127.0.0.1:0"),
        *(f"--data-dir={home / 'data'}", *options),
    ]
    with desktop() as variables:
        process = popen(line, home, variables)
        with ending(Daemon(process, home / "data")) as daemon:
            yield Probed(daemon, file)


if __name__ == "__main__":
    sys.exit(serve(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
