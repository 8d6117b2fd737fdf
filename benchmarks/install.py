"""
The cost of a whole install against what of it nobody can do without.

Run ``python -m benchmarks.install``.  The plugin is as large as may be, 199 sources
and 2 MB, and comes over TLS from a git server on this machine.  Unavoidable are
``git clone --depth 1`` of it and what the bundler does: by hand it compiles each source
without looking at it, and bundles the host with the arguments of the build.  Prompts
are answered at once.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.internet.task import react
from twisted.internet.threads import deferToThread

from bridge.plugins.esbuild.executable import HeldCopy
from bridge.plugins.policy.scan import Scanner
from tests.forge import ForgeProcess, start_forge_process
from tests.plugins.bundle.workshop import MAIN, Workshop
from tests.plugins.operations.bench import STEPS, Bench, files_of, write_tree

from .clone import by_git, make_cloner
from .rebuild import arguments
from .scan import _FUNCTION
from .scan import Bench as Compiling

ROUNDS = 5
SOURCES = 198
FUNCTIONS = 29
IN_SCAN = "bundler, each source"
IN_BUILD = "bundler, the bundle"


class _Times(list[str]):
    """A list of events that knows when each came first."""

    def __init__(self) -> None:
        super().__init__()
        self.at: dict[str, float] = {}

    def append(self, event: str) -> None:
        """See ``list.append``."""
        self.at.setdefault(event, time.perf_counter())


def make_plugin(root: Path) -> None:
    """Write a signed plugin that uses all its sources."""
    names = [f"part{number}" for number in range(SOURCES)]
    imports = "".join(f"import * as {name} from './{name}.js';\n" for name in names)
    main = imports + MAIN.replace('"MARK"', "[{}]".format(",\n".join(names)))
    text = "interface Item { id: string; name: string; weight: number }\n"
    text += "".join(_FUNCTION.format(n=number) for number in range(FUNCTIONS))
    parts = {f"{name}.ts": text for name in names}
    write_tree(root, files_of("sample", **{"main.ts": main}, **parts), "sample")


async def install(
    forge: ForgeProcess, root: Path, reactor: Any, bundler: HeldCopy
) -> dict[str, float]:
    """Install into a new data directory; the seconds of each step."""
    shop = Workshop(root).fill()
    bench = Bench(at=root)
    cloner: Any = make_cloner(reactor, forge.ca_file)
    executable = partial(bundler.get, shop.data.bin)
    scanner = Scanner(reactor, deferToThread, executable, os.urandom)
    bench.fetcher = evolve(bench.fetcher, cloner=cloner, scanner=scanner)
    begun = bench.audience.events = _Times()
    builder = evolve(shop.builder(reactor), bundler=bundler)
    setattr(bench.rebuild, "_builder", builder)  # noqa: B010
    bench.installer = evolve(bench.installer, fetcher=bench.fetcher)
    await bench.installer.install(forge.url("sample"))
    ends = [*(begun.at[step] for step in STEPS[1:]), time.perf_counter()]
    return {step: end - begun.at[step] for step, end in zip(STEPS, ends, strict=True)}


async def by_hand(
    forge: ForgeProcess, root: Path, reactor: Any, compiling: Compiling
) -> dict[str, float]:
    """Clone by git, and have the bundler do what it does; the seconds of each."""
    shop, times = Workshop(root), {}
    started = time.perf_counter()
    by_git(forge.url("sample"), forge.ca_file, root / "cloned")
    times["git"] = time.perf_counter() - started
    times[IN_SCAN] = await compiling.compile(root / "cloned")
    times[IN_BUILD] = _bundle(shop, arguments(root / "out"))
    return times


def _bundle(shop: Workshop, options: list[str]) -> float:
    started = time.perf_counter()
    command = [str(shop.data.bin / "esbuild"), *options]
    subprocess.run(command, cwd=shop.data.root, check=True, env={})
    return time.perf_counter() - started


def rest(times: dict[str, float]) -> tuple[float, float]:
    """
    Return what an install takes apart from its clone and the bundler.

    :param times: One for each step, and for each thing done by hand.
    :return: Without the bundler of the build; and without that of the scan, too.
    """
    steps = sum(times[step] for step in STEPS if step != "clone")
    with_scan = steps - times[IN_BUILD]
    return with_scan, with_scan - times[IN_SCAN]


async def measure(reactor: Any, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Return the seconds of each step, and of what is done by hand, by round."""
    forge = start_forge_process()
    found: dict[str, list[float]] = {}
    try:
        with tempfile.TemporaryDirectory() as directory:
            make_plugin(Path(directory) / "tree")
            compiling, bundler = Compiling(reactor, Path(directory)), HeldCopy()
            forge.publish(Path(directory) / "tree", "sample")
            for _ in range(rounds):
                root = Path(directory) / "root"
                root.mkdir()
                steps = await install(forge, root, reactor, bundler)
                hand = await by_hand(forge, root, reactor, compiling)
                shutil.rmtree(root)
                for name, seconds in {**steps, **hand}.items():
                    found.setdefault(name, []).append(seconds)
    finally:
        forge.stop()
    return found


async def _print(reactor: Any) -> None:
    found = await measure(reactor)
    medians = {name: statistics.median(times) for name, times in found.items()}
    for name, seconds in medians.items():
        print(f"{name:22} {seconds * 1000:7.0f} ms")
    whole = sum(medians[step] for step in STEPS)
    unavoidable = sum(medians.values()) - whole
    print(
        f"install {whole * 1000:.0f} ms / by hand {unavoidable * 1000:.0f} ms", end=""
    )
    print(f" = {whole / unavoidable:.1f}")
    best = {name: min(times) for name, times in found.items()}
    with_scan, without = rest(best)
    print(f"rest, scan included {with_scan * 1000:.0f} ms", end="")
    print(f"; without the scan's bundler {without * 1000:.0f} ms")


def main() -> None:
    """Measure, and print."""
    react(lambda reactor: Deferred.fromCoroutine(_print(reactor)))


if __name__ == "__main__":
    main()
