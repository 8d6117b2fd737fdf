"""
The cost of a whole install against what of it nobody can do without.

Run ``python -m benchmarks.install``.  The plugin is as large as may be, 199 sources
and 2 MB, and comes over TLS from a git server on this machine.  Unavoidable are
``git clone --depth 1`` of it and the bundler, run by hand with the same arguments.
Prompts are answered at once.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.internet.task import react
from twisted.internet.threads import deferToThread

from bridge.plugins.bundle.bundlerprocess import arguments
from bridge.plugins.clone.cloner import GitCloner
from bridge.plugins.esbuild.executable import temporary_copy
from bridge.plugins.policy.scan import Scanner
from tests.forge import ForgeProcess, start_forge_process
from tests.plugins.bundle.workshop import MAIN, Workshop
from tests.plugins.operations.bench import PROFILE, STEPS, Bench, files_of, write_tree

from .clone import by_git
from .scan import _FUNCTION

ROUNDS = 5
SOURCES = 198
FUNCTIONS = 29


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


async def install(forge: ForgeProcess, root: Path, reactor: Any) -> dict[str, float]:
    """Install into a new data directory; the seconds of each step."""
    shop = Workshop(root).fill()
    bench = Bench(at=root)
    cloner: Any = GitCloner(forge.ca_file, False, time.monotonic)
    scanner = Scanner(
        reactor, deferToThread, lambda: temporary_copy(shop.data.bin), os.urandom
    )
    bench.fetcher = evolve(bench.fetcher, cloner=cloner, scanner=scanner)
    begun = bench.audience.events = _Times()
    setattr(bench.rebuild, "_builder", shop.builder(reactor))  # noqa: B010
    bench.installer = evolve(bench.installer, fetcher=bench.fetcher)
    await bench.installer.install(forge.url("sample"))
    ends = [*(begun.at[step] for step in STEPS[1:]), time.perf_counter()]
    return {step: end - begun.at[step] for step, end in zip(STEPS, ends, strict=True)}


def by_hand(forge: ForgeProcess, root: Path) -> tuple[float, float]:
    """Clone by git and run the bundler; the seconds of both."""
    shop = Workshop(root)
    started = time.perf_counter()
    by_git(forge.url("sample"), forge.ca_file, root / "cloned")
    cloned = time.perf_counter()
    command = [str(shop.data.bin / "esbuild"), *arguments(PROFILE, root / "out")]
    subprocess.run(command, cwd=shop.data.root, check=True, env={})
    return cloned - started, time.perf_counter() - cloned


async def measure(reactor: Any, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Return the seconds of each step, of git and of the bundler, by round."""
    forge = start_forge_process()
    found: dict[str, list[float]] = {}
    try:
        with tempfile.TemporaryDirectory() as directory:
            make_plugin(Path(directory) / "tree")
            forge.publish(Path(directory) / "tree", "sample")
            for _ in range(rounds):
                root = Path(directory) / "root"
                root.mkdir()
                steps = await install(forge, root, reactor)
                git, bundler = by_hand(forge, root)
                shutil.rmtree(root)
                for name, seconds in {**steps, "git": git, "bundler": bundler}.items():
                    found.setdefault(name, []).append(seconds)
    finally:
        forge.stop()
    return found


async def _print(reactor: Any) -> None:
    found = await measure(reactor)
    medians = {name: statistics.median(times) for name, times in found.items()}
    for name, seconds in medians.items():
        print(f"{name:22} {seconds * 1000:7.0f} ms")
    unavoidable = medians.pop("git") + medians.pop("bundler")
    whole = sum(medians.values())
    print(
        f"install {whole * 1000:.0f} ms / by hand {unavoidable * 1000:.0f} ms", end=""
    )
    print(f" = {whole / unavoidable:.1f}")


def main() -> None:
    """Measure, and print."""
    react(lambda reactor: Deferred.fromCoroutine(_print(reactor)))


if __name__ == "__main__":
    main()
