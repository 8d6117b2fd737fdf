"""
The scan of the largest tree, against the bundler's own transform of the same files.

Run ``python -m benchmarks.scan``.  The limit is the specification's: 200 files, 2 MiB.
The peer is the same binary, asked over the same protocol to compile each file and
nothing else.  A second thread sleeps a millisecond at a time and reports the longest it
was kept from running, which is what a socket would wait; also for hostile sources.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from twisted.internet.defer import Deferred
from twisted.internet.task import react
from twisted.internet.threads import deferToThread

from bridge.plugins.esbuild.conversation import converse
from bridge.plugins.esbuild.executable import Executable, HeldCopy
from bridge.plugins.esbuild.language import is_source_name
from bridge.plugins.esbuild.packets import encoded
from bridge.plugins.policy import scan
from bridge.plugins.policy.reader import transform
from bridge.plugins.policy.reader.reading import read_sources, scan_limits
from bridge.plugins.tree.tree import read_tree
from bridge.protocol.limits import KIB, SOURCE_BYTES, SOURCE_FILES
from tests.plugins.bundle.workshop import Workshop

ROUNDS = 5
TICK = 0.001
HOSTILE = {
    "divisions": b"a/b/c;" * 15 + b"\n",
    "classes": b"class A{b(){}}" * 6 + b"\n",
    "brackets": b"(" * 90 + b"\n",
    "arrows": b"()=>" * 22 + b"\n",
    "template": b"`\n" + b"\\n" * 40 + b"`\n",
    "breaches": b"a.constructor;document.cookie;\n",
    "aliases": b"b=document;c=b;c.cookie;\n",
}
_FUNCTION = """\
export function visit{n}(items: readonly Item[], seen: Map<string, number>): number {{
  let total = 0;
  for (const item of items) {{
    const known = seen.get(item.id) ?? 0;
    if (known > {n} && item.name !== 'window {n}') {{
      total += known * item.weight; // fetch is only a word here
    }}
    seen.set(item.id, known + 1);
  }}
  return total;
}}
"""


def make_tree(root: Path) -> None:
    """Write as many sources as a plugin may have."""
    most = SOURCE_BYTES // SOURCE_FILES - 200
    for index in range(SOURCE_FILES):
        text = "import type { Item } from './types.js';\n"
        number = 0
        while len(text) < most:
            text += _FUNCTION.format(n=number)
            number += 1
        (root / f"file{index}.ts").write_text(text[: text.rindex("export function")])


@contextmanager
def longest_hold() -> Iterator[list[float]]:
    """Measure the longest time, in ms, that a thread was kept from running."""
    held = [0.0]
    over = threading.Event()

    def watch() -> None:
        last = time.perf_counter()
        while not over.is_set():
            time.sleep(TICK)
            now = time.perf_counter()
            held[0] = max(held[0], (now - last - TICK) * 1000)
            last = now

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield held
    finally:
        over.set()
        thread.join()


class Bench:
    """A scanner, and what only compiles."""

    def __init__(self, reactor: Any, directory: Path) -> None:
        """Set the bundler up in a directory."""
        self.reactor = reactor
        workshop = Workshop(directory).fill()
        self.executable: Callable[[], Executable] = partial(
            HeldCopy().get, workshop.data.bin
        )
        self.scanner = scan.Scanner(
            reactor, deferToThread, self.executable, lambda count: b"\1" * count
        )

    async def scan(self, root: Path) -> tuple[float, float, list[Any]]:
        """Scan a tree; its seconds, those of this process's processor, and the hits."""
        begun, used = time.perf_counter(), time.process_time()
        hits = await self.scanner.scan(read_tree(root))
        return time.perf_counter() - begun, time.process_time() - used, hits

    async def compile(self, root: Path) -> float:
        """Have the bundler compile each source of a tree; return its seconds."""
        begun = time.perf_counter()
        questions = [
            transform.Question(path.name, path.read_bytes())
            for path in sorted(root.iterdir())
            if is_source_name(path.name)
        ]
        executable = await deferToThread(self.executable)
        plain = encoded(["--loader=ts", "--log-level=silent", "--sourcemap=external"])
        with mock.patch.object(transform, "_whole_flags", lambda *_: plain):
            await converse(
                self.reactor,
                executable,
                scan_limits(),
                lambda bundler: read_sources(bundler, questions, "$"),
            )
        executable.close()
        return time.perf_counter() - begun


async def _measure(reactor: Any) -> None:
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(reactor, Path(directory))
        root = Path(directory) / "tree"
        root.mkdir()
        make_tree(root)
        scans, used, peers, holds = [], [], [], []
        for _ in range(ROUNDS):
            peers.append(await bench.compile(root))
            with longest_hold() as held:
                seconds, processor, hits = await bench.scan(root)
            assert not hits, hits
            scans.append(seconds)
            used.append(processor)
            holds.append(held[0])
        size = sum(path.stat().st_size for path in root.iterdir())
        mine, peer = statistics.median(scans), statistics.median(peers)
        print(f"{SOURCE_FILES} files, {size / 2**20:.2f} MiB")
        print(f"scan      {mine:6.2f} s, of it in the daemon {min(used) * 1000:.0f} ms")
        print(f"transform {peer:6.2f} s")
        print(f"scan / transform {mine / peer:.2f}; longest hold {min(holds):.1f} ms")
        await _measure_hostile(bench, Path(directory))


async def _measure_hostile(bench: Bench, directory: Path) -> None:
    print("hostile sources of 128 KiB and 2 MiB: seconds, in the daemon, hold, verdict")
    for name, unit in HOSTILE.items():
        for size in (128 * KIB, SOURCE_BYTES):
            root = directory / f"{name}{size}"
            root.mkdir()
            (root / "a.ts").write_bytes(unit * (size // len(unit)))
            with longest_hold() as held:
                seconds, used, hits = await bench.scan(root)
            verdict = hits[0].report if hits else "accepted"
            print(
                f"  {name:<10} {seconds:5.2f} s {used * 1000:5.0f} ms "
                f"{held[0]:5.1f} ms  {verdict}"
            )


def main() -> None:
    """Measure, and print."""
    react(lambda reactor: Deferred.fromCoroutine(_measure(reactor)))


if __name__ == "__main__":
    main()
