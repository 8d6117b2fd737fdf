"""
Builds the bundles: ``python -m tests.attacks.building DATA OUT``.

The daemon's own ``Builder`` builds from plugins that are placed as installed ones are.
Their sources were not scanned: this is about what a bundle stops after the scan.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from attrs import evolve
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
from .modes import MODES, Build

PLUGINS = (ATTACKER, VICTIM)


def place(data: Path, build: Build) -> None:
    """Place the plugins as if they were installed."""
    for source in PLUGINS:
        tree = data / "plugins" / source.name
        shutil.copytree(source, tree, dirs_exist_ok=True)
        path = tree / MANIFEST_FILE
        manifest = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps({**manifest, "dom": build.dom}), "utf-8")


async def build_all(reactor: Any, data: Path, out: Path) -> None:
    """Build each bundle into a directory of its own below ``out``."""
    reference = load_profile("reference")
    builds: Collection[Build] = {mode.build for mode in MODES}
    for build in builds:
        place(data, build)
        builder = Builder(
            profile=evolve(reference, bind=build.bind, freeze=build.freeze),
            data=DataDir(data),
            theme_dir=out / build.name,
            reactor=reactor,
            defer_to_thread=deferToThread,
            version=__version__,
            warn=lambda _: None,
        )
        report = await builder.build(
            lambda: {
                one.name: read_tree(data / "plugins" / one.name) for one in PLUGINS
            }
        )
        if not report.ok:
            raise SystemExit("\n".join(report.errors))


def _main(reactor: Any) -> Deferred[None]:
    data, out = map(Path, sys.argv[1:])
    return Deferred.fromCoroutine(build_all(reactor, data, out))


if __name__ == "__main__":
    react(_main)
