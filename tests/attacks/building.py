"""
Builds the bundle: ``python -m tests.attacks.building DATA OUT``.

The daemon's own ``Builder`` builds from plugins that are placed as installed ones are.
Their sources were not scanned: this is about what a bundle stops after the scan.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react
from twisted.internet.threads import deferToThread

from bridge import __version__
from bridge.datadir.paths import DataDir
from bridge.plugins.bundle.build import Builder
from bridge.plugins.tree.manifest import MANIFEST_FILE
from bridge.plugins.tree.tree import read_tree
from bridge.settings.host import load_profile

from .corpus import ATTACKER, VICTIM

PLUGINS = (ATTACKER, VICTIM)


def place(data: Path) -> None:
    """Place the plugins as if they were installed."""
    for source in PLUGINS:
        tree = data / "plugins" / source.name
        shutil.copytree(source, tree)
        path = tree / MANIFEST_FILE
        manifest = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps({**manifest, "dom": True}), "utf-8")


async def build(reactor: Any, data: Path, out: Path) -> None:
    """Build the bundle into ``out``."""
    place(data)
    builder = Builder(
        profile=load_profile("reference"),
        data=DataDir(data),
        theme_dir=out,
        reactor=reactor,
        defer_to_thread=deferToThread,
        version=__version__,
        warn=lambda _: None,
    )
    trees = {one.name: read_tree(data / "plugins" / one.name) for one in PLUGINS}
    report = await builder.build(lambda: trees)
    if not report.ok:
        raise SystemExit("\n".join(report.errors))


def _main(reactor: Any) -> Deferred[None]:
    data, out = map(Path, sys.argv[1:])
    return Deferred.fromCoroutine(build(reactor, data, out))


if __name__ == "__main__":
    react(_main)
