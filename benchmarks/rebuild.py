"""
A rebuild of 20 small plugins, against the bundler alone with the same arguments.

The rebuild verifies the bundler and every
signature, runs the bundler, checks what it read and wrote, and publishes the bundle.
"""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from bridge.datadir.paths import HOST_ENTRY
from bridge.plugins.bundle.bundling import host_flags
from bridge.plugins.installed.records import Record
from bridge.plugins.installed.trees import Trees
from bridge.plugins.tree.signature import key_id, read_signature
from tests.plugins.bundle.workshop import MAIN, Workshop
from tests.plugins.operations.bench import PROFILE, files_of, write_tree

from .table import Row

ROUNDS = 40
PLUGINS = 20


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
    report = await builder.build(lambda: trees.verified_trees(records))
    assert report.ok and not report.errors, report
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
        (shop.data.bin / "esbuild").chmod(0o700)  # the daemon runs a copy
        await rebuild(shop, trees, builder, records)
        for _ in range(rounds):
            ours.append(await rebuild(shop, trees, builder, records))
            theirs.append(alone(shop))
    return ours, theirs


async def rows(reactor: Any) -> list[Row]:
    """Return the best of both."""
    ours, alone = (min(times) * 1000 for times in await measure(reactor))
    name = f"rebuild with {PLUGINS} plugins"
    return [Row(name, ours, "ms", 1.6, alone, "esbuild")]
