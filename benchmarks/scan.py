"""
The source policy's rate: scanning a tree as large as may be, against hashing it.

Run ``python -m benchmarks.scan``.  The limit is the specification's: 200 files, 2 MiB.
A second thread sleeps a millisecond at a time and reports the longest it was kept from
running, which is what a socket would wait.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from pathlib import Path

from bridge.plugins.digest import tree_digest
from bridge.plugins.policy.scan import scan_tree
from bridge.protocol.limits import SOURCE_BYTES, SOURCE_FILES

ROUNDS = 3
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


class Watch(threading.Thread):
    """Sleeps a millisecond at a time, and keeps the longest it was kept waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.longest = 0.0
        self.ended = False

    def run(self) -> None:
        """Sleep until ended."""
        while not self.ended:
            before = time.perf_counter()
            time.sleep(0.001)
            self.longest = max(self.longest, time.perf_counter() - before - 0.001)


def main() -> None:
    """Measure, and print."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        make_tree(root)
        scans, digests = [], []
        watch = Watch()
        watch.start()
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            hits = scan_tree(root)
            scans.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            tree_digest(root, "benchmark-tree-v1")
            digests.append(time.perf_counter() - begun)
        watch.ended = True
        watch.join()
        size = sum(path.stat().st_size for path in root.iterdir())
    scan, digest = statistics.median(scans), statistics.median(digests)
    print(f"{SOURCE_FILES} files, {size / 2**20:.2f} MiB, {len(hits)} hits")
    print(f"scan    {scan:6.2f} s  {size / 2**20 / scan:7.2f} MiB/s")
    print(f"digest  {digest:6.2f} s  {size / 2**20 / digest:7.2f} MiB/s")
    print(
        f"scan / digest {scan / digest:.0f}; longest wait {watch.longest * 1000:.1f} ms"
    )


if __name__ == "__main__":
    main()
