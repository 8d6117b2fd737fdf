"""A data directory that builds: the real bundler, a small host, and plugins."""

import hashlib
from pathlib import Path
from typing import Any, Self

from attrs import Factory, define, evolve
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from bridge.concurrency.threads import InThread, Pool
from bridge.datadir.paths import DataDir
from bridge.plugins.bundle.build import Builder, Report
from bridge.plugins.bundle.bundling import Sources
from bridge.plugins.tree.tree import Tree, read_tree
from bridge.settings.host import HostProfile, Paths, load_profile

from ...directories import fresh_directory, write_files
from ...npm import esbuild
from ...reactors import reactor
from ...waiting import expect_freed

API = """\
export interface Plugin { activate(): void }
export function definePlugin(plugin: Plugin): Plugin { return plugin; }
"""
HOST = """\
import { COMPILED_PLUGINS } from "@bridge/static-plugins";
import { definePlugin } from "@bridge/plugin-api";
console.log(COMPILED_PLUGINS, definePlugin);
"""
SLOPPY = "function f(a, a) { return 010 + a; };"
MAIN = """\
import { definePlugin } from "@bridge/plugin-api";
export default definePlugin({ activate() { console.log("MARK"); } });
"""


@define
class Workshop:
    """
    One data directory and one theme directory.

    :ivar profile: The reference host's, with modules instead of texts by default.
    :ivar needed: The plugins without which nothing is published.
    """

    root: Path
    profile: HostProfile = Factory(
        lambda: evolve(load_profile("reference"), plugins="modules")
    )
    warnings: list[str] = Factory(list)
    needed: frozenset[str] = frozenset()
    in_thread: InThread = deferToThread

    @property
    def data(self) -> DataDir:
        return DataDir(self.root / "data")

    @property
    def theme_dir(self) -> Path:
        return self.root / "themes"

    @property
    def folder(self) -> Path:
        return self.theme_dir / self.profile.theme_name

    @property
    def bundle(self) -> Path:
        return self.folder / f"{self.profile.bundle_name}.js"

    @property
    def map(self) -> Path:
        return self.folder / f"{self.profile.bundle_name}.js.map"

    def fill(self) -> Self:
        """Put everything in place that a build of modules needs."""
        self.data.create()
        self.put_bundler(esbuild().read_bytes())
        self.write("host/packages/api/src/index.ts", API)
        self.write("host/packages/host/src/index.ts", HOST)
        return self

    def put_bundler(self, content: bytes) -> None:
        """Make this the bundler, with its right checksum."""
        self.write("bin/esbuild", content)
        self.write("bin/esbuild.sha256", hashlib.sha256(content).hexdigest() + "\n")

    def write(self, path: str, content: str | bytes) -> None:
        write_files(self.data.root, {path: content})

    def plugin(self, plugin_id: str, **files: str) -> None:
        """Write a plugin; ``__`` in a name stands for a dot."""
        self.write(f"plugins/{plugin_id}/plugin.json", f'{{"id": "{plugin_id}"}}')
        self.write(f"plugins/{plugin_id}/main.ts", MAIN.replace("MARK", plugin_id))
        for name, content in files.items():
            self.write(f"plugins/{plugin_id}/{name.replace('__', '.')}", content)

    def builder(self, on=reactor, defer_to_thread: InThread | None = None) -> Builder:
        return Builder(
            Paths(self.profile, self.data, self.theme_dir, ("--host", "x")),
            on,
            defer_to_thread or self.in_thread,
            warn=self.warnings.append,
        )

    def build(self, *ids: str, **how: Any) -> Deferred[Report]:
        """Build a bundle of these plugins; see ``builder``."""
        builder = self.builder(**how)
        building = builder.build(lambda: (self.trees(*ids), {}), self.needed)
        return Deferred.fromCoroutine(building)

    def trees(self, *ids: str) -> dict[str, Tree]:
        return {name: read_tree(self.data.plugins / name) for name in ids}

    def published(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.folder.iterdir()}


class BuildCase(TestCase):
    """A data directory with one plugin, ``aa``."""

    def setUp(self):
        expect_freed(self, Sources)
        pool = Pool(reactor, "build-test", 4)
        pool.start()
        self.addCleanup(pool.stop)
        self.shop = Workshop(fresh_directory(self), in_thread=pool.call).fill()
        self.shop.plugin("aa")

    async def built(self, *ids: str) -> Report:
        """Build without a fault; the report."""
        report = await self.shop.build(*(ids or ("aa",)))
        self.assertEqual(report.errors, [])
        return report

    async def refusal(self, *ids: str) -> str:
        """Build, expect a refusal, and give it."""
        report = await self.shop.build(*(ids or ("aa",)))
        self.assertFalse(report.ok)
        self.assertEqual(len(report.errors), 1, report.errors)
        return report.errors[0]
