"""
A rebuild of 20 small plugins, against the bundler alone with the same arguments.

Run ``python -m benchmarks.rebuild``.  The rebuild verifies the bundler and every
signature, runs the bundler, checks what it read and wrote, and publishes the bundle.
No tree has changed since the build before, so no plugin is bound again; what it takes
when one has changed, what the first build takes, and where the time of a rebuild goes,
is printed too.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from unittest import mock

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from bridge.plugins.bundle import build
from bridge.plugins.bundle.bundlerprocess import arguments, run_bundler
from bridge.plugins.bundle.staging import Staging
from bridge.plugins.installed.records import Record
from bridge.plugins.installed.trees import Trees, Verification
from bridge.plugins.tree.signature import key_id, read_signature
from tests.plugins.bundle.workshop import MAIN, Workshop
from tests.plugins.operations.bench import PROFILE, files_of, write_tree

ROUNDS = 40
PLUGINS = 20

BUNDLER: Final = "the bundler, a process of the daemon's"
STEPS: Final = {
    "every tree verified": (Trees, "sort_out"),
    "prepared": (Staging, "prepare"),
    "checked": (Staging, "check"),
    "published": (Staging, "publish"),
    "cleaned up": (Staging, "discard"),
}


def prepare(root: Path, plugins: int = PLUGINS) -> tuple[Workshop, dict[str, Record]]:
    """Make a data directory with so many installed plugins; and their records."""
    shop, records = Workshop(root).fill(), {}
    for number in range(plugins):
        plugin_id = f"plugin-{number:03}"
        write_plugin(shop, plugin_id, plugin_id)
        key = key_id(_public_key(shop.data.plugin(plugin_id)))
        records[plugin_id] = Record("https://forge.example/", "0" * 40, key, 0, 0, 0)
    return shop, records


def _public_key(tree: Path) -> str:
    return read_signature((tree / "plugin.sig").read_bytes()).public_key


def write_plugin(shop: Workshop, plugin_id: str, text: str) -> None:
    """Write or replace the tree of a plugin that logs a text."""
    tree = shop.data.plugin(plugin_id)
    shutil.rmtree(tree, ignore_errors=True)
    main = MAIN.replace("MARK", text)
    write_tree(tree, files_of(plugin_id, **{"main.ts": main}), plugin_id)


async def rebuild(
    shop: Workshop, trees: Trees, builder: Any, records: dict[str, Record]
) -> float:
    """Rebuild once; the seconds it took."""
    begun = time.perf_counter()
    verification = Verification(trees, records)
    report = await builder.build(verification.verify)
    assert report.ok and not verification.faults, (report, verification.faults)
    return time.perf_counter() - begun


def alone(shop: Workshop) -> float:
    """Run the bundler alone; the seconds it took."""
    out = shop.root / "out"
    command = [str(shop.data.bin / "esbuild"), *arguments(PROFILE, out)]
    begun = time.perf_counter()
    subprocess.run(command, cwd=shop.data.root, check=True, env={})
    return time.perf_counter() - begun


async def measure(
    reactor: Any, rounds: int = ROUNDS
) -> tuple[list[float], list[float]]:
    """Rebuild, and run the bundler alone, in turns; the seconds of both."""
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as directory:
        shop, records = prepare(Path(directory))
        trees, builder = Trees(shop.data, PROFILE, lambda: ""), shop.builder(reactor)
        await rebuild(shop, trees, builder, records)
        for _ in range(rounds):
            ours.append(await rebuild(shop, trees, builder, records))
            theirs.append(alone(shop))
    return ours, theirs


async def measure_changes(
    reactor: Any, rounds: int = ROUNDS
) -> tuple[list[float], list[float]]:
    """Build for the first time, and after one tree has changed; the seconds of both."""
    first, changed = [], []
    with tempfile.TemporaryDirectory() as directory:
        shop, records = prepare(Path(directory))
        trees = Trees(shop.data, PROFILE, lambda: "")
        for number in range(rounds):
            builder = shop.builder(reactor)
            first.append(await rebuild(shop, trees, builder, records))
            write_plugin(shop, "plugin-000", f"change {number}")
            changed.append(await rebuild(shop, trees, builder, records))
            builder.bundler.close()  # or the disk writes a copy for each round
    return first, changed


@contextlib.contextmanager
def timed() -> Iterator[dict[str, list[float]]]:
    """Note the seconds that each step of a rebuild takes, while the body runs."""
    taken: dict[str, list[float]] = {name: [] for name in (*STEPS, BUNDLER)}

    def noting(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            begun = time.perf_counter()
            try:
                return step(*arguments)
            finally:
                taken[name].append(time.perf_counter() - begun)

        return noted

    async def bundle(*arguments: Any) -> str:
        begun = time.perf_counter()
        warnings = await run_bundler(*arguments)
        taken[BUNDLER].append(time.perf_counter() - begun)
        return warnings

    with contextlib.ExitStack() as stack:
        for name, (owner, step) in STEPS.items():
            noted = noting(name, getattr(owner, step))
            stack.enter_context(mock.patch.object(owner, step, noted))
        stack.enter_context(mock.patch.object(build, "run_bundler", bundle))
        yield taken


async def measure_steps(
    reactor: Any, rounds: int = ROUNDS
) -> tuple[list[float], dict[str, list[float]]]:
    """Rebuild; the seconds of each rebuild, and of each of its steps."""
    with tempfile.TemporaryDirectory() as directory:
        shop, records = prepare(Path(directory))
        trees, builder = Trees(shop.data, PROFILE, lambda: ""), shop.builder(reactor)
        await rebuild(shop, trees, builder, records)
        with timed() as taken:
            whole = []
            for _ in range(rounds):
                whole.append(await rebuild(shop, trees, builder, records))
                alone(shop)
    return whole, taken


async def _print(reactor: Any) -> None:
    ours, theirs = map(min, await measure(reactor))
    print(f"rebuild {ours * 1000:.1f} ms / bundler {theirs * 1000:.1f} ms", end="")
    print(f" = {ours / theirs:.2f}")
    first, changed = map(min, await measure_changes(reactor))
    print(f"one tree changed {changed * 1000:.1f} ms, first {first * 1000:.1f} ms")
    whole, steps = await measure_steps(reactor)
    for name, seconds in steps.items():
        print(f"{min(seconds) * 1000:6.2f} ms  {name}")
    rest = min(whole) - sum(map(min, steps.values()))
    print(f"{rest * 1000:6.2f} ms  turns of threads")


def main() -> None:
    """Measure, and print."""
    react(lambda reactor: Deferred.fromCoroutine(_print(reactor)))


if __name__ == "__main__":
    main()
