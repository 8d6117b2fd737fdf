"""
How long a large answer keeps every other page waiting: the reactor's longest turn.

Run ``python -m benchmarks.turns``.  A real daemon in a process of its own notes how
long each turn of its reactor takes, from one poll to the next, while a page asks for
the largest answers there are.  It reports the median and the longest of all rounds.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bridge.protocol.limits import MIB
from tests.rawsocket import RawSocket, text
from tests.whole.daemon import ROOT, Daemon, environment

ROUNDS = 7
SETTLED_SECONDS = 0.2
LEAST_MS = 0.5
VALUES = {
    "remote: 8 MB, ASCII": "x" * (8 * 1000 * 1000),
    "remote: 8 MB, escaped": "é" * (1000 * 1000 + 300 * 1000),
}


class Poller:
    """What the reactor polls with, noting the time between two polls."""

    def __init__(self, poller: Any) -> None:
        self._poller = poller
        self._begun = time.perf_counter()

    def poll(self, *arguments: Any) -> Any:
        """Poll."""
        took = (time.perf_counter() - self._begun) * 1000
        if took > LEAST_MS:
            os.write(1, b"turn %.2f\n" % took)  # Twisted takes standard output
        found = self._poller.poll(*arguments)
        self._begun = time.perf_counter()
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._poller, name)


def serve() -> None:
    """Run a daemon whose turns are noted; every server answers it with 16 MiB."""
    from twisted.internet import reactor
    from twisted.internet.task import deferLater
    from twisted.internet.threads import deferToThread

    from bridge.cli.main import main
    from bridge.outbound.bodytext import JsonText
    from bridge.outbound.fetcher import Fetched, HttpFetcher

    async def fetch(self: Any, request: Any, caller: Any) -> Fetched:
        text, packet = JsonText(), b"x" * (64 * 1024)
        for _ in range(256):
            text.add(packet)
            await deferLater(noted, 0)
        return Fetched(200, [], await deferToThread(text.whole))

    HttpFetcher.fetch = fetch  # type: ignore[method-assign]
    noted: Any = reactor
    noted._poller = Poller(noted._poller)
    sys.exit(main(sys.argv[2:]))


@contextlib.contextmanager
def watched(home: Path) -> Iterator[Daemon]:
    """Run such a daemon."""
    arguments = (
        *("run", "--host=reference", "--listen=127.0.0.1:0", "--dev"),
        *(f"--data-dir={home / 'data'}", "--rate=1000", "--burst=1000"),
    )
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "benchmarks.turns", "serve", *arguments],
        cwd=ROOT,
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    daemon = Daemon(process, home / "data")
    try:
        yield daemon
    finally:
        daemon.stop()


def make_database(path: Path) -> None:
    """Make one with six blobs and ten thousand rows."""
    path.parent.mkdir(mode=0o700)
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE blobs(b)")
        made.execute("CREATE TABLE rows(id, name, about)")
        made.executemany("INSERT INTO blobs VALUES(?)", [(bytes(MIB - 64),)] * 5)
        rows = [(n, f"name {n}", "about it " * 70) for n in range(10_000)]
        made.executemany("INSERT INTO rows VALUES(?, ?, ?)", rows)
        made.commit()


def query(sql: str, **more: object) -> dict[str, object]:
    """Write a query."""
    params = {"database": "sample", "sql": sql, **more}
    return {"service": "sql", "method": "query", "params": params}


ANSWERS: dict[str, dict[str, object]] = {
    "outbound: 16 MiB": {
        "service": "outbound",
        "method": "fetch",
        "params": {"url": "https://example.com/"},
    },
    "sql: 5 MiB of blobs": query("SELECT b FROM blobs", blobs=True),
    "sql: 10 000 rows, 7 MiB": query("SELECT * FROM rows"),
}


def ask(daemon: Daemon, raw: RawSocket, request: dict[str, object]) -> None:
    """Ask for an answer, and read it."""
    raw.send(text({"type": "request", "id": "1", **request}))
    assert raw.answer()["ok"]


def evaluate(daemon: Daemon, raw: RawSocket, value: str) -> None:
    """Have a snippet evaluated, whose value is long."""
    asked = {"code": "return 1"}
    asking = threading.Thread(
        target=daemon.call_by_http, args=("remote", "eval", asked)
    )
    asking.start()
    while (pushed := raw.receive()).get("event") != "remote":
        pass
    params = {"id": pushed["data"]["id"], "ok": True, "value": value}
    request = {"service": "remote", "method": "result", "params": params}
    raw.send(text({"type": "request", "id": "1", **request}))
    asking.join()
    assert raw.answer()["result"] == {"delivered": True}


def longest(daemon: Daemon, work: Callable[[], None]) -> float:
    """Do something, and give the longest turn meanwhile, in milliseconds."""
    time.sleep(SETTLED_SECONDS)
    before = len(daemon.lines)
    work()
    time.sleep(SETTLED_SECONDS)
    found = [
        float(line.split()[1])
        for line in daemon.lines[before:]
        if line.startswith("turn ")
    ]
    return max(found, default=LEAST_MS)


def main() -> None:
    """Measure each, and print the results."""
    with TemporaryDirectory(prefix="bridge-home-") as made:
        home = Path(made)
        make_database(home / "data" / "sample.db")
        with watched(home) as daemon, RawSocket(daemon.port) as raw:
            raw.hello(daemon.token)
            cases = {
                name: partial(ask, daemon, raw, request)
                for name, request in ANSWERS.items()
            }
            for name, value in VALUES.items():
                cases[name] = partial(evaluate, daemon, raw, value)
            for name, work in cases.items():
                turns = [longest(daemon, work) for _ in range(ROUNDS)]
                middle = statistics.median(turns)
                print(f"{name:<28} {middle:5.1f} ms, at most {max(turns):5.1f} ms")


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve()
    main()
