"""
The source policy's rate: scanning a tree as large as may be, against hashing it.

Run ``python -m benchmarks.scan``.  The limit is the specification's: 200 files, 2 MiB.
A second thread sleeps a millisecond at a time and reports the longest it was kept from
running, which is what a socket would wait; then for sources made to keep it waiting.
Times are the scanning thread's own processor time.
"""

from __future__ import annotations

import functools
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.plugins.policy.hostile import FRAMES, UNITS, longest_hold, source

from bridge.plugins.digest import tree_digest
from bridge.plugins.policy.scan import scan_source, scan_tree
from bridge.protocol.limits import KIB, SOURCE_BYTES, SOURCE_FILES

ROUNDS = 3
# A busy machine makes a hold look longer: what looks long is looked at again.
HOSTILE_ROUNDS = 5
LOOKS_LONG = 0.015
SHOWN = 8
HELD = 160 * KIB
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


def _holds() -> Iterator[tuple[float, str]]:
    """The longest hold, in ms, of every hostile source in every frame."""
    for frame in FRAMES:
        for name, unit in UNITS.items():
            scan = functools.partial(scan_source, "a.ts", source(unit, frame, HELD))
            hold = longest_hold(scan)
            for _ in range(HOSTILE_ROUNDS - 1):
                if hold > LOOKS_LONG:
                    hold = min(hold, longest_hold(scan))
            yield hold * 1000, f"{name} {frame and f'in {frame}'}".strip()


def _times() -> Iterator[tuple[float, str]]:
    """The seconds a scan of every hostile source of the largest size takes."""
    for name, unit in UNITS.items():
        content = source(unit)
        begun = time.thread_time()
        scan_source("a.ts", content)
        yield time.thread_time() - begun, name


def main() -> None:
    """Measure, and print."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        make_tree(root)
        scans, digests, holds = [], [], []
        for _ in range(ROUNDS):
            begun = time.thread_time()
            hold = longest_hold(functools.partial(scan_tree, root))
            holds.append(hold * 1000)
            scans.append(time.thread_time() - begun)
            begun = time.thread_time()
            tree_digest(root, "benchmark-tree-v1")
            digests.append(time.thread_time() - begun)
        size = sum(path.stat().st_size for path in root.iterdir())
    scan, digest = statistics.median(scans), statistics.median(digests)
    print(f"{SOURCE_FILES} files, {size / 2**20:.2f} MiB")
    print(f"scan    {scan:6.2f} s  {size / 2**20 / scan:7.2f} MiB/s")
    print(f"digest  {digest:6.2f} s  {size / 2**20 / digest:7.2f} MiB/s")
    print(f"scan / digest {scan / digest:.0f}; longest hold {min(holds):.1f} ms")
    print("longest holds of hostile sources, in ms:")
    for hold, name in sorted(_holds(), reverse=True)[:SHOWN]:
        print(f"  {hold:5.1f} {name}")
    print("hostile sources of the largest size, in scans of an ordinary tree:")
    for seconds, name in sorted(_times(), reverse=True)[:SHOWN]:
        print(f"  {seconds / scan:5.1f} {name}")


if __name__ == "__main__":
    main()
