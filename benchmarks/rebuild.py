"""
A rebuild of 20 small plugins, against the bundler alone with the same arguments.

Run ``python -m benchmarks.rebuild``.  The rebuild verifies the bundler and every
signature, runs the bundler, checks what it read and wrote, and publishes the bundle.
What the first build takes, which copies the bundler, and where the time of a rebuild
goes, is printed too.
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
from bridge.plugins.bundle.bundling import Bundling, host_flags
from bridge.plugins.bundle.prerequisites import HOST_ENTRY
from bridge.plugins.bundle.staging import Staging
from bridge.plugins.esbuild.conversation import converse
from bridge.plugins.installed.records import Record
from bridge.plugins.installed.trees import Trees, Verification
from bridge.plugins.tree.signature import key_id, read_signature
from tests.plugins.bundle.workshop import MAIN, Workshop
from tests.plugins.operations.bench import PROFILE, files_of, write_tree

ROUNDS = 40
PLUGINS = 20

BUNDLER: Final = "the conversation with the bundler, and all in it"
STEPS: Final = {
    "every tree verified": (Verification, "verify"),
    "checked": (Bundling, "check_host"),
    "published": (Staging, "publish"),
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


def arguments(out: Path) -> list[str]:
    """Return what follows the bundler's name on a command line that does the same."""
    names = [f"--outfile={out}/bundle.js", f"--metafile={out}/meta.json"]
    flags = [one for one in host_flags(PROFILE) if one != "--metafile"]
    return [HOST_ENTRY, *flags, *names]


def alone(shop: Workshop) -> float:
    """Run the bundler alone; the seconds it took."""
    command = [str(shop.data.bin / "esbuild"), *arguments(shop.root / "out")]
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


async def measure_first(reactor: Any, rounds: int = ROUNDS) -> list[float]:
    """Build for the first time; the seconds of each."""
    first = []
    with tempfile.TemporaryDirectory() as directory:
        shop, records = prepare(Path(directory))
        trees = Trees(shop.data, PROFILE, lambda: "")
        for _ in range(rounds):
            builder = shop.builder(reactor)
            first.append(await rebuild(shop, trees, builder, records))
            builder.bundler.close()  # or the disk writes a copy for each round
    return first


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

    async def noted_converse(*arguments: Any) -> None:
        begun = time.perf_counter()
        await converse(*arguments)
        taken[BUNDLER].append(time.perf_counter() - begun)

    with contextlib.ExitStack() as stack:
        for name, (owner, step) in STEPS.items():
            noted = noting(name, getattr(owner, step))
            stack.enter_context(mock.patch.object(owner, step, noted))
        stack.enter_context(mock.patch.object(build, "converse", noted_converse))
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
    print(f"first {min(await measure_first(reactor)) * 1000:.1f} ms")
    whole, steps = await measure_steps(reactor)
    for name, seconds in steps.items():
        print(f"{min(seconds) * 1000:6.2f} ms  {name}")
    print(f"{min(whole) * 1000:6.2f} ms  the whole")


def main() -> None:
    """Measure, and print."""
    react(lambda reactor: Deferred.fromCoroutine(_print(reactor)))


if __name__ == "__main__":
    main()
