"""Bundles of the daemon's own build: a plugin that throws at its top level."""

from __future__ import annotations

import json
from typing import Any

from ..npm import run_node
from ..plugins.bundle.workshop import BuildCase
from .bundling import REFERENCE

# The real entry needs a document; this one is the runtime with a daemon that answers.
ENTRY = """\
import { COMPILED_PLUGINS } from "@bridge/static-plugins";

import { Log } from "./log.js";
import { createRuntime } from "./runtime.js";
import { Signal } from "./signal.js";

const lines = [];
const environment = { later: () => () => undefined, now: () => 0 };
const log = new Log(environment.now, () => true);
log.recorded.listen(({ scope, message }) => lines.push(`${scope}: ${message}`));
const off = { "enabled:cc": false };
const daemon = {
  call: (service, method, { ns } = {}) =>
    Promise.resolve(method === "list" ? { entries: ns === "host" ? off : {} } : {}),
  pushes: new Signal(),
  opened: new Signal(),
};
const runtime = createRuntime(COMPILED_PLUGINS, {
  daemon,
  log,
  environment,
  storage: { getItem: () => null, setItem() {}, removeItem() {} },
  ask: () => Promise.resolve(false),
  place: () => ({ ui: {}, remove: () => undefined }),
  safe: process.argv.includes("safe"),
  leftSafeMode: () => undefined,
});
daemon.opened.emit();
setTimeout(() => {
  const plugins = runtime.plugins().map(({ id, stage, error }) => [id, stage, error]);
  console.log(JSON.stringify({ plugins, lines }));
}, 50);
"""
PLUGIN = """\
import { definePlugin } from "@bridge/plugin-api";
console.log("ID");
BODY
const activate = (ctx) => ctx.logger.info("started");
export default definePlugin({ id: "ID", activate });
"""


class LazyTests(BuildCase):
    """The table of the reference profile."""

    def setUp(self) -> None:
        """Install the reference host's sources, with an entry for Node.js."""
        super().setUp()
        for path in (REFERENCE / "packages").rglob("*.ts"):
            inside = path.relative_to(REFERENCE).as_posix()
            self.shop.write(f"host/{inside}", path.read_bytes())
        self.shop.write("host/packages/host/src/index.ts", ENTRY)
        self.plugin("aa")
        self.plugin("cc")
        self.plugin("dd")

    def plugin(self, plugin_id: str, body: str = "") -> None:
        """Write a plugin that notes that it was evaluated."""
        source = PLUGIN.replace("ID", plugin_id).replace("BODY", body)
        self.shop.write(f"plugins/{plugin_id}/plugin.json", f'{{"id": "{plugin_id}"}}')
        self.shop.write(f"plugins/{plugin_id}/main.ts", source)

    async def run_bundle(self, *arguments: str) -> dict[str, Any]:
        """Build a bundle of all plugins, run it, and return what it prints."""
        report = await self.shop.build("aa", "bb", "cc", "dd")
        self.assertEqual((report.errors, self.shop.warnings), ([], []))
        *evaluated, last = run_node(self.shop.bundle, *arguments).splitlines()
        return {**json.loads(last), "evaluated": evaluated}

    async def test_throws_while_it_is_loaded(self) -> None:
        """Only that plugin fails, and one that is off is not evaluated."""
        self.plugin("bb", 'throw new Error("at the top");')
        printed = await self.run_bundle()
        self.assertEqual(
            printed["plugins"],
            [
                ["aa", "running", ""],
                ["bb", "failed", "Error: at the top"],
                ["cc", "off", ""],
                ["dd", "running", ""],
            ],
        )
        self.assertEqual(printed["evaluated"], ["aa", "bb", "dd"])
        self.assertIn("bb: failed to start: Error: at the top", printed["lines"])

    async def test_throws_in_a_module_it_imports(self) -> None:
        """A module of the plugin's own, in either module system, is no different."""
        self.plugin("bb", 'import "./broken.cjs";')
        self.shop.write("plugins/bb/broken.cjs", 'throw new Error("in a module");')
        printed = await self.run_bundle()
        stages = [(name, stage) for name, stage, _ in printed["plugins"]]
        self.assertIn(("bb", "failed"), stages)
        self.assertIn(("dd", "running"), stages)

    async def test_safe_mode(self) -> None:
        """In safe mode no plugin is evaluated."""
        self.plugin("bb", 'throw new Error("at the top");')
        printed = await self.run_bundle("safe")
        self.assertEqual({stage for _, stage, _ in printed["plugins"]}, {"held"})
        self.assertEqual(printed["evaluated"], [])

    async def test_reproducible(self) -> None:
        """The same plugins make the same bytes."""
        self.plugin("bb")
        await self.run_bundle()
        before = self.shop.published()
        await self.run_bundle()
        self.assertEqual(self.shop.published(), before)
