"""
A rebuild of 20 small plugins, against the bundler alone with the same arguments.

The rebuild verifies the bundler and every
signature, runs the bundler, checks what it read and wrote, and publishes the bundle.
"""

import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from bridge.datadir.paths import HOST_ENTRY
from bridge.plugins.bundle.bundling import Target
from bridge.plugins.installed.records import Record
from bridge.plugins.installed.trees import Trees
from bridge.plugins.tree.tree import key_id, read_signature
from tests.plugins.bundle.workshop import MAIN, Workshop
from tests.plugins.operations.bench import PROFILE, files_of, write_tree

from .table import Row

ROUNDS = 40
PLUGINS = 20


def prepare(root: Path) -> tuple[Workshop, dict[str, Record]]:
    """Make a data directory with installed plugins; and their records."""
    shop, records = Workshop(root).fill(), {}
    for number in range(PLUGINS):
        plugin_id = f"plugin-{number:03}"
        tree = shop.data.plugin(plugin_id)
        main = MAIN.replace("MARK", plugin_id)
        write_tree(tree, files_of(plugin_id, **{"main.ts": main}), plugin_id)
        key = key_id(read_signature((tree / "plugin.sig").read_bytes()).public_key)
        records[plugin_id] = Record("https://forge.example/", "0" * 40, key, 0, 0, 0)
    return shop, records


async def rebuild(trees: Trees, builder: Any, records: dict[str, Record]) -> float:
    """Rebuild once; the seconds it took."""
    begun = time.perf_counter()
    report = await builder.build(lambda: trees.verified_trees(records))
    assert report.ok and not report.errors, report
    return time.perf_counter() - begun


def alone(shop: Workshop) -> float:
    """Run the bundler alone, so that it does the same; the seconds it took."""
    out = shop.root / "out"
    names = [f"--outfile={out}/bundle.js", f"--metafile={out}/meta.json"]
    flags = [one for one in Target.host(PROFILE).flags if one != "--metafile"]
    command = [str(shop.data.bin / "esbuild"), HOST_ENTRY, *flags, *names]
    begun = time.perf_counter()
    subprocess.run(command, cwd=shop.data.root, check=True, env={})
    return time.perf_counter() - begun


async def rows(reactor: Any) -> list[Row]:
    """Rebuild, and run the bundler alone, in turns; return the best of both."""
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as directory:
        shop, records = prepare(Path(directory))
        trees, builder = Trees(shop.data, PROFILE, lambda: ""), shop.builder(reactor)
        (shop.data.bin / "esbuild").chmod(0o700)  # the daemon runs a copy
        await rebuild(trees, builder, records)
        for _ in range(ROUNDS):
            ours.append(await rebuild(trees, builder, records))
            theirs.append(alone(shop))
    best, peer = min(ours) * 1000, min(theirs) * 1000
    return [Row(f"rebuild with {PLUGINS} plugins", best, "ms", 1.6, peer, "esbuild")]
