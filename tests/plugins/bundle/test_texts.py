"""Builds of plugins as texts, with the real bundler."""

import json

from attrs import evolve

from bridge.protocol import limits

from ...npm import run_node
from .workshop import SLOPPY, BuildCase

HOST = """\
import { COMPILED_PLUGINS, REALM_RUNTIME } from "@bridge/static-plugins";
console.log(JSON.stringify({ plugins: COMPILED_PLUGINS, runtime: REALM_RUNTIME }));
"""
RUNTIME = """\
import { definePlugin } from "@bridge/plugin-api";
import { message } from "./inside.js";
Object.assign(globalThis, { __pluginApi: { definePlugin }, started: message });
"""
MAIN = """\
import { definePlugin } from "@bridge/plugin-api";
import { twice } from "./src/more";
import type { Plugin } from "@bridge/plugin-api";
export default definePlugin({ activate() { return twice("MARK"); } } as Plugin);
"""


class TextsCase(BuildCase):
    """A data directory of a host that takes texts, with one plugin."""

    def setUp(self):
        super().setUp()
        self.shop.profile = evolve(self.shop.profile, plugins="texts")
        self.shop.write("host/packages/host/src/index.ts", HOST)
        self.shop.write("host/packages/host/src/realm/runtime.ts", RUNTIME)
        inside = "export const message: string = 'started';"
        self.shop.write("host/packages/host/src/realm/inside.ts", inside)
        self.plugin("aa")

    def plugin(self, plugin_id: str, main: str = MAIN) -> None:
        self.shop.plugin(plugin_id, main__ts=main.replace("MARK", plugin_id))
        more = "\n\nexport const twice = (x: string) => x + x;\n"
        self.shop.write(f"plugins/{plugin_id}/src/more.ts", more)

    async def table(self, *ids: str):
        """Build, and return what the page has of it."""
        report = await self.shop.build(*ids)
        self.assertEqual((report.errors, report.plugins), ([], sorted(ids)))
        return json.loads(run_node(self.shop.bundle))


class TextsTests(TextsCase):
    async def test_text(self):
        """It is strict, readable, and has a map that its author understands."""
        [plugin] = (await self.table("aa"))["plugins"]
        lines = plugin["text"].splitlines()
        self.assertEqual(lines[:2], ['"use strict";', "var plugin = (() => {"])
        self.assertEqual(lines[-1], "})();")
        self.assertIn('return twice("aa");', plugin["text"])
        self.assertNotIn("sourceMappingURL", plugin["text"])
        sources = ["../../build/plugin-api.js", "main.ts", "src/more.ts"]
        self.assertEqual(sorted(plugin["map"]["sources"]), sources)
        self.assertRegex(plugin["map"]["mappings"], "^;.*[A-Z]")
        self.assertEqual(plugin["map"].keys(), {"sources", "mappings"})
        # The table is on the disk; the bundle's map has no source of a plugin.
        self.assertEqual(
            sorted(path.name for path in self.shop.data.build.iterdir()),
            ["lock", "static-plugins.ts"],
        )
        self.assertEqual(
            json.loads(self.shop.map.read_bytes())["sources"],
            [
                "plugins/aa/plugin.json",
                "build/static-plugins.ts",
                "host/packages/host/src/index.ts",
            ],
        )

    async def test_no_plugins(self):
        """Without plugins there is still a runtime."""
        found = await self.table()
        self.assertEqual(found["plugins"], [])
        self.assertIn("__pluginApi", found["runtime"])


class LeftOutTests(TextsCase):
    """Plugins that can't be bundled alone."""

    async def left_out(self, main: str) -> str:
        """Build with a plugin that is left out; return why."""
        self.plugin("bb", main)
        report = await self.shop.build("aa", "bb")
        self.assertTrue(report.ok, report.errors)
        self.assertEqual(report.plugins, ["aa"])
        info = json.loads((self.shop.folder / "info.json").read_bytes())
        self.assertEqual((info["plugins"], "dev" in info), (["aa"], False))
        self.assertNotIn(b'"bb"', self.shop.bundle.read_bytes())
        [error] = report.errors
        self.assertTrue(error.startswith("bb is left out: "), error)
        return error.removeprefix("bb is left out: ")

    async def test_needed(self):
        """Without a plugin that is needed, nothing is published."""
        self.plugin("bb", "export default 1")
        await self.shop.build("aa", "bb")
        published = self.shop.published()
        self.plugin("bb", "import './missing'")
        self.shop.needed = frozenset({"bb"})
        report = await self.shop.build("aa", "bb")
        self.assertFalse(report.ok)
        self.assertIn("plugins/bb/main.ts:1", report.errors[0])
        self.assertEqual(self.shop.published(), published)

    async def test_attack_that_fills_the_bundle(self):
        """It is refused itself, and never makes another plugin fail."""
        main = "import d from './d.txt'; export default d;"
        self.shop.write("plugins/bb/d.txt", "\x01" * 4 * limits.MIB)
        most = "; at most 25165824 are for one plugin"
        self.assertEqual((await self.left_out(main))[-len(most) :], most)
        self.shop.write("plugins/bb/d.txt", "\x01" * 9000)
        self.patch(limits, "BUILD_PLUGINS_BYTES", 60_000)
        error = (
            "all take more than 60000 bytes of the bundle or its map, and it the most"
        )
        self.assertEqual(await self.left_out(main), error)

    async def test_attack_other_files(self):
        """A plugin is made of its own files, and the API is no file of it."""
        for path in (
            "../../host/packages/api/src/index.ts",
            "../../host/packages/host/src/realm/inside.ts",
            "../aa/main.ts",
            "../../state.json",
            "../../build/static-plugins.ts",
        ):
            self.shop.write("state.json", '"secret"')
            main = f"import * as x from '{path}'; export default x;"
            error = await self.left_out(main)
            self.assertIn("plugins/bb/main.ts:1 may not import", error, path)
            self.assertNotIn("secret", error)

    async def test_attack_sloppy(self):
        """Code that was never scanned is no text that can't be read."""
        error = await self.left_out(f"module.exports = {SLOPPY}")
        self.assertIn('plugins/bb/main.ts:1: "a" cannot be bound', error)

    async def test_attack_remains_in_the_text(self):
        """Nothing is left for the browser to import."""
        error = await self.left_out(
            "export default () => import('https://x.example/');"
        )
        self.assertIn("imports another module, which is not in the bundle", error)
        error = await self.left_out(
            "import t from '@bridge/static-plugins'; export default t;"
        )
        self.assertTrue(error.startswith("esbuild failed:\nplugins/bb/main.ts:1:"))
        self.assertIn('Could not resolve "@bridge/static-plugins"', error)


class HostTests(TextsCase):
    async def test_attack_host_that_imports_a_plugin(self):
        """No source of a plugin gets into a script of the page's own."""
        for path in ("index.ts", "realm/runtime.ts"):
            file = f"host/packages/host/src/{path}"
            before = (self.shop.data.root / file).read_text()
            above = "../" * (4 + path.count("/"))
            self.shop.write(file, f"import '{above}plugins/aa/main.ts';\n{before}")
            refused = f"{file}:1 may not import plugins/aa/main.ts"
            self.assertIn(refused, await self.refusal())
            self.shop.write(file, before)
