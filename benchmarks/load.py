"""
A page's round trips alone, and next to pages and programs that behave badly.

Run ``python -m benchmarks.load``.  One daemon, one page that asks for a setting a
hundred times a second; alongside it, in a process of its own, one kind of load after
the other.  Then ten thousand connections, one by one: what stays open, and the
memory in use.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from attrs import frozen
from websocket import WebSocketException

from tests.rawsocket import TEXT, RawSocket, close_frame, frame, text
from tests.whole.daemon import ROOT, Daemon, running

SECONDS = 6.0
PER_SECOND = 100
CONNECTIONS = 10_000
OPTIONS = ("--rate=200", "--burst=200")
READ = {"service": "state", "method": "get", "params": {"ns": "host", "key": "k"}}


def request(number: int, **fields: object) -> bytes:
    """Write a request frame."""
    return text({"type": "request", "id": str(number), **READ, **fields})


def paired(port: int, token: str, receive_bytes: int | None = None) -> RawSocket:
    """Open a socket and pair it, however often it must be tried."""
    while True:
        raw = RawSocket(port, receive_bytes=receive_bytes)
        if raw.status == 101:
            with contextlib.suppress(ConnectionError, AssertionError):
                raw.hello(token)
                return raw
        raw.socket.close()
        time.sleep(0.05)


def busy(port: int, token: str) -> None:
    """63 pages that ask five times a second each."""
    pages = [paired(port, token) for _ in range(63)]
    for number in itertools.count():
        begun = time.monotonic()
        for page in pages:
            page.send(request(number))
        for page in pages:
            page.answer()
        time.sleep(max(0.0, 0.2 - (time.monotonic() - begun)))


def wrong_hellos(port: int, token: str) -> None:
    """Sockets that say a wrong token, as fast as they can."""
    while True:
        with contextlib.suppress(OSError, AssertionError), RawSocket(port) as raw:
            if raw.status == 101:
                raw.send(text({"type": "hello", "token": "A" * 43, "client": "x/1"}))
                raw.ended()


def silent_upgrades(port: int, token: str) -> None:
    """Sockets of an allowed origin that never say hello, as fast as they can."""
    held: deque[RawSocket] = deque()
    while True:
        with contextlib.suppress(OSError, IndexError):
            held.append(RawSocket(port, origin="http://localhost:9000"))
        if len(held) > 200:
            held.popleft().socket.close()


def slow_reader(port: int, token: str) -> None:
    """A page that asks for a megabyte fifty times a second and reads nothing."""
    page = paired(port, token)
    for number in range(16):
        params = {"ns": "large", "key": str(number), "value": "x" * 60_000}
        page.send(request(number, method="set", params=params))
        page.answer()
    while True:
        page = paired(port, token, receive_bytes=4096)
        with contextlib.suppress(OSError):
            for number in itertools.count():
                page.send(request(number, method="list", params={"ns": "large"}))
                time.sleep(0.02)
        page.socket.close()


def slowloris(port: int, token: str) -> None:
    """200 requests sent byte by byte, and as many sockets as may wait for a hello."""
    pending: list[socket.socket] = []
    head = itertools.cycle(b"GET /v1/ws HTTP/1.1\r\nX-Slow: " + b"x" * 1000)
    while True:
        while len(pending) < 200:
            pending.append(socket.create_connection(("127.0.0.1", port)))
        byte = bytes([next(head)])
        for one in list(pending):
            try:
                one.sendall(byte)
            except OSError:
                pending.remove(one)
                one.close()
        waiting = [RawSocket(port) for _ in range(4)]
        time.sleep(0.3)
        for raw in waiting:
            raw.socket.close()


def large_frames(port: int, token: str) -> None:
    """A page that sends a frame of 8 MiB, and the next when it is answered."""
    page = paired(port, token)
    asked = {"type": "request", "id": "1", **READ, "params": {"value": ""}}
    before, after = json.dumps(asked).encode("ascii").split(b'""')
    fill = 8 * 2**20 - len(before) - len(after) - 2
    whole = frame(TEXT, before + b'"' + b"x" * fill + b'"' + after)
    while True:
        page.send(whole)
        page.answer()


def pipelined(port: int, count: int, read: bool) -> None:
    """Ask for the health on so many connections, without a token or a pause."""
    asked = f"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode() * 1500
    waiting = selectors.DefaultSelector()
    while True:
        while len(waiting.get_map()) < count:
            one = socket.create_connection(("127.0.0.1", port))
            one.setblocking(False)
            wanted = selectors.EVENT_WRITE | (selectors.EVENT_READ if read else 0)
            waiting.register(one, wanted)
        for key, events in waiting.select(1.0):
            connection = key.fileobj
            assert isinstance(connection, socket.socket)
            try:
                if events & selectors.EVENT_READ and not connection.recv(1 << 20):
                    raise ConnectionError
                if events & selectors.EVENT_WRITE:
                    connection.send(asked)
            except BlockingIOError:
                pass
            except OSError:
                waiting.unregister(connection)
                connection.close()


def one_that_never_reads(port: int, token: str) -> None:
    """One connection that asks for the health without a pause, and reads nothing."""
    pipelined(port, 1, read=False)


def many_that_never_read(port: int, token: str) -> None:
    """120 of them."""
    pipelined(port, 120, read=False)


def many_that_read(port: int, token: str) -> None:
    """120 that read what they are answered."""
    pipelined(port, 120, read=True)


LOADS: dict[str, Callable[[int, str], None]] = {
    "63 busy pages": busy,
    "failing hellos": wrong_hellos,
    "silent upgrades": silent_upgrades,
    "slow reader": slow_reader,
    "slowloris": slowloris,
    "8 MiB frames": large_frames,
    "1 pipelining": one_that_never_reads,
    "120 pipelining": many_that_never_read,
    "120 reading": many_that_read,
}


@frozen
class Trips:
    """The round trips of one page, in milliseconds."""

    median: float
    p99: float
    worst: float


def measure(page: RawSocket, seconds: float = SECONDS) -> Trips:
    """Ask so many times a second, and note how long each answer takes."""
    taken: list[float] = []
    end = time.monotonic() + seconds
    for number in itertools.count():
        begun = time.perf_counter()
        page.send(request(number))
        page.answer()
        taken.append((time.perf_counter() - begun) * 1000)
        if time.monotonic() > end:
            break
        time.sleep(1 / PER_SECOND)
    p99 = statistics.quantiles(taken, n=100)[98]
    return Trips(statistics.median(taken), p99, max(taken))


@contextlib.contextmanager
def load(name: str, daemon: Daemon) -> Iterator[None]:
    """Let one kind of load run while the block does."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.load", name, str(daemon.port), daemon.token],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        time.sleep(2.0)
        yield
        assert process.poll() is None, f"{name} ended"
    finally:
        process.kill()
        process.wait()


def resident(daemon: Daemon) -> float:
    """Give the daemon's resident memory in MiB."""
    status = Path(f"/proc/{daemon.process.pid}/status").read_text("ascii")
    kibibytes = re.search(r"VmRSS:\s+(\d+)", status)
    assert kibibytes is not None
    return int(kibibytes[1]) / 1024


def descriptors(daemon: Daemon) -> int:
    """Give how many files and sockets the daemon has open."""
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def connect_in_sequence(daemon: Daemon, count: int) -> float:
    """Open, pair, and close so many sockets; gives how many a second."""
    begun = time.monotonic()
    for _ in range(count):
        with RawSocket(daemon.port) as raw:
            raw.hello(daemon.token)
            raw.send(close_frame(1000))
            raw.ended()
    return count / (time.monotonic() - begun)


def connect_in_time(daemon: Daemon, tries: int = 20) -> int:
    """Count the tries of a page to connect, each alone, that take under 2 s."""
    connected = 0
    for _ in range(tries):
        begun = time.monotonic()
        with contextlib.suppress(ValueError, OSError, WebSocketException):
            with daemon.page() as page:
                assert page.welcome["type"] == "welcome"
            connected += time.monotonic() - begun < 2.0
        time.sleep(0.2)
    return connected


def report_connects(home: Path) -> None:
    """Connect a page next to the loads that need no token, and print how often."""
    with running(home) as daemon:
        for name in ("failing hellos", "silent upgrades", "120 reading"):
            with load(name, daemon):
                print(f"{name:16} {connect_in_time(daemon)} of 20 pages connect")


def report_trips(home: Path) -> None:
    """Measure round trips next to each load, and print a table."""
    with running(home, *OPTIONS) as daemon:
        page = paired(daemon.port, daemon.token)
        measure(page, 1.0)
        quiet = measure(page)
        print(f"{'':16}   p50 ms         p99 ms          worst ms   memory")
        results = [("alone", quiet, resident(daemon))]
        for name in LOADS:
            with load(name, daemon):
                results.append((name, measure(page), resident(daemon)))
            time.sleep(6.0)  # what is left of the load is let go
        results.append(("alone, after", measure(page), resident(daemon)))
        for name, trips, mebibytes in results:
            print(
                f"{name:16} {trips.median:6.2f} ({trips.median / quiet.median:5.2f})"
                f" {trips.p99:6.2f} ({trips.p99 / quiet.p99:5.2f})"
                f" {trips.worst:9.2f} {mebibytes:9.1f} MiB"
            )


def report_connections(home: Path) -> None:
    """Connect very often, and print what is left of it."""
    with running(home, "--rate=100000", "--burst=100000") as daemon:
        connect_in_sequence(daemon, CONNECTIONS // 10)
        time.sleep(2.0)
        files, memory = descriptors(daemon), resident(daemon)
        rate = connect_in_sequence(daemon, CONNECTIONS)
        time.sleep(2.0)
        print(
            f"{CONNECTIONS} connections, {rate:.0f} a second: open files "
            f"{files} -> {descriptors(daemon)}, memory {memory:.1f} -> "
            f"{resident(daemon):.1f} MiB"
        )


def main() -> None:
    """Measure; or, given a name, a port and a token, be a load."""
    if len(sys.argv) > 1:
        LOADS[sys.argv[1]](int(sys.argv[2]), sys.argv[3])
        return
    with tempfile.TemporaryDirectory() as home:
        report_trips(Path(home))
    with tempfile.TemporaryDirectory() as home:
        report_connects(Path(home))
    with tempfile.TemporaryDirectory() as home:
        report_connections(Path(home))


if __name__ == "__main__":
    main()
