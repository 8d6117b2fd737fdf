"""Builds with the real bundler that bind the names of plugins; some bundles are run."""

from __future__ import annotations

import json
import os
from unittest import mock

from attrs import evolve

from bridge.plugins.bundle import build as build_module
from bridge.plugins.bundle.confinement.alone import Confinement
from bridge.plugins.policy.reader.encoding import PacketError
from bridge.plugins.policy.reader.service import TooComplexError

from ....npm import run_node
from ..workshop import BuildCase

RUN = """\
import { COMPILED_PLUGINS } from "@bridge/static-plugins";
import { Mark } from "@bridge/plugin-api";
(globalThis as any).secret = "LOOT";
(globalThis as any).document = { name: "the document" };
(async () => {
  for (const entry of COMPILED_PLUGINS as any) {
    const found = (await entry.load()).default;
    const value = typeof found === "function" ? await found(Mark) : found;
    console.log(JSON.stringify(value, (_, v) => (v === undefined ? "nothing" : v)));
  }
})();
"""
API = "export class Mark {}\nexport interface Type { a: 1 }\n"


class RunCase(BuildCase):
    """A host that logs what its plugins export."""

    def setUp(self):
        """Replace the host."""
        super().setUp()
        self.shop.write("host/packages/host/src/index.ts", RUN)
        self.shop.write("host/packages/api/src/index.ts", API)

    async def run_plugin(self, code: str, **files: str) -> object:
        """Build one plugin, run the bundle, and return what the plugin exports."""
        self.shop.plugin("aa", main__ts=code, **files)
        report = await self.shop.build("aa")
        self.assertEqual(report.errors, [])
        return json.loads(run_node(self.shop.bundle))


class BoundTests(RunCase):
    """What the names of a plugin mean."""

    async def test_attack_every_shape(self):
        """A free name is the scope's in every place that a name can have."""
        shapes = (
            "typeof secret",
            "[secret]",
            "{ secret }",
            "{ a: secret }",
            "((a = secret) => a)()",
            "(({ b = secret }) => b)({})",
            "`${secret}`",
            r"\u0073ecret",
            r"\u{73}ecret",
            "[...[secret]]",
            "(() => { try { throw secret } catch (e) { return e } })()",
            "(function () { return typeof this })()",
            "(function () { return typeof this }).call(undefined)",
            "typeof self",
            "typeof top",
            "typeof frames",
            "typeof document",
            "typeof globalThis",
            "typeof fetch",
            "typeof eval",
            "typeof Function",
            "typeof process.env.NODE_ENV",
            "class { static a = secret }.a",
            "typeof import.meta.url",
            "new Proxy({}, { get: () => typeof secret }).x",
        )
        listed = ", ".join(f"() => ({shape})" for shape in shapes)
        found = await self.run_plugin(
            f"declare const secret: any, require: any, process: any;\n"
            f"export default () => [{listed}].map((f: any) => f());"
        )
        self.assertNotIn("LOOT", json.dumps(found))
        self.assertNotIn("object", found)
        self.assertNotIn("function", found)

    async def test_attack_assignments(self):
        """Nothing can be added to the scope, and no assignment reaches the page."""
        for code in (
            "secret = 1",
            "[secret] = [1]",
            "({ secret } = { secret: 1 })",
            "for (secret of [1]);",
            "Math = 1",
        ):
            found = await self.run_plugin(
                f"export default () => {{ try {{ {code} }} catch (e) "
                "{ return e instanceof TypeError } }"
            )
            self.assertIs(found, True, code)

    async def test_attack_dynamic_imports(self):
        """A computed import finds nothing that it could load."""
        found = await self.run_plugin(
            "export default (a: any) => import('data:text/javascript,1' + a.b)"
            ".then(() => 'LOADED', (e) => e.name);"
        )
        self.assertEqual(found, "Error")

    async def test_attack_name_of_the_scope(self):
        """A plugin that uses the scope's name gets none of another's."""
        found = await self.run_plugin(
            "const $scope = { Math: 1 }; export default [$scope.Math, Math.max(2, 3)];"
        )
        self.assertEqual(found, [1, 3])

    async def test_attack_timers(self):
        """A timer takes no text, and calls back without the window."""
        found = await self.run_plugin(
            "export default () => new Promise((done) => {\n"
            "  let threw = 0;\n"
            "  try { setTimeout('secret' as any) } catch { threw = 1 }\n"
            "  const back = function (this: any, a) { done([threw, typeof this, a]) }\n"
            "  setTimeout(back, 1, 2)\n"
            "})"
        )
        self.assertEqual(found, [1, "undefined", 2])

    async def test_attack_timers_of_others(self):
        """A plugin ends only what it has started itself."""
        found = await self.run_plugin(
            "export default () => new Promise((done) => {\n"
            "  const own = setTimeout(() => done('its own'), 5)\n"
            "  for (let id = 0; id < 1000; id += 1) clearTimeout(id)\n"
            "  const ended = setInterval(() => done('what was ended'), 1)\n"
            "  clearInterval(ended); clearTimeout((globalTimer as any))\n"
            "  clearTimeout(own)\n"
            "  setTimeout((a) => done([typeof own, a]), 10, 1)\n"
            "})\n"
            "declare const globalTimer: unknown;"
        )
        self.assertEqual(found, ["object", 1])

    async def test_the_language(self):
        """A plugin that asks for nothing computes as everywhere."""
        found = await self.run_plugin(
            "import { Mark } from '@bridge/plugin-api'; import { b } from './b.js';\n"
            "import data from './c.json';\n"
            "class A { #a = 1; static s = new Map([[1, 2]]);\n"
            "  get a() { return this.#a } }\n"
            "export default async (own: unknown) => [\n"
            "  new A().a, A.s.size, b(3), data.d, own === Mark, isNaN(NaN),\n"
            "  undefined, new URL('https://a.test/b').pathname,\n"
            "  await Promise.resolve(1 / Infinity),\n"
            "  typeof console.log, typeof performance.now(), typeof notThere\n"
            "];",
            b__js="exports.b = function () { return arguments.length }",
            c__json='{"d": 4}',
        )
        self.assertEqual(
            found,
            [
                *(1, 1, 1, 4, True, True, "nothing", "/b", 0),
                *("function", "number", "undefined"),
            ],
        )

    async def test_the_document(self):
        """A manifest that asks for the document gets it, and no refused name."""
        code = "export default () => [document.title, typeof fetch, typeof self]"
        self.shop.write("plugins/aa/plugin.json", '{"id": "aa", "dom": true}')
        self.shop.write("plugins/aa/main.ts", code)
        report = await self.shop.build("aa")
        self.assertEqual(report.errors, [])
        scope = (self.shop.data.root / "build/bound/aa/scope.js").read_text()
        self.assertIn("page.document", scope)
        self.assertNotIn("fetch", scope)
        for dom in ("false", '"true"', "1"):
            manifest = f'{{"id": "aa", "dom": {dom}}}'
            self.shop.write("plugins/aa/plugin.json", manifest)
            await self.shop.build("aa")
            scope = (self.shop.data.root / "build/bound/aa/scope.js").read_text()
            self.assertNotIn("document", scope)


class BuildTests(BuildCase):
    """The build with the plugins alone."""

    async def test_off(self):
        """A profile that does not ask for it imports the plugins themselves."""
        self.shop.profile = evolve(self.shop.profile, bind="off")
        self.shop.plugin("aa", main__ts="export default [document, Math];")
        self.assertEqual((await self.shop.build("aa")).errors, [])
        self.assertFalse((self.shop.data.root / "build" / "bound").exists())
        self.assertIn(b"[document,Math]", self.shop.bundle.read_bytes())

    async def test_source_map(self):
        """The map leads to the plugins' own lines, through both bundles."""
        self.shop.plugin(
            "aa", main__ts="export default 1;", b__ts="export const b = 1;"
        )
        self.shop.write(
            "plugins/aa/main.ts", "import { b } from './b'; export default b;"
        )
        self.assertEqual((await self.shop.build("aa")).errors, [])
        made = json.loads(self.shop.map.read_bytes())
        self.assertIn("plugins/aa/b.ts", made["sources"])
        self.assertNotIn("build/bound/aa/main.js", made["sources"])
        content = made["sourcesContent"][made["sources"].index("plugins/aa/b.ts")]
        self.assertEqual(content, "export const b = 1;")

    async def test_leftovers(self):
        """What another build has left is gone."""
        await self.shop.build("aa")
        self.shop.plugin("bb")
        await self.shop.build("bb")
        bound = self.shop.data.root / "build" / "bound"
        self.assertEqual([path.name for path in bound.iterdir()], ["bb"])

    async def test_attack_writable_by_others(self):
        """Whatever the umask is, nobody else can write what is to be published."""
        before = os.umask(0)
        self.addCleanup(os.umask, before)
        self.assertEqual((await self.shop.build("aa")).errors, [])
        bound = self.shop.data.root / "build" / "bound"
        for path in (bound, bound / "aa"):
            self.assertEqual(path.stat().st_mode & 0o77, 0, path)

    async def test_places_of_errors(self):
        """What can't be built is reported in the plugin's own file."""
        for code, words in (
            ("import './b';", 'Could not resolve "./b"'),
            ("export default await 1;", "Top-level await"),
        ):
            self.shop.plugin("aa", main__ts=f"\n{code}")
            error = await self.refusal()
            self.assertIn("plugins/aa/main.ts:2", error)
            self.assertIn(words, error)

    async def test_attack_file_of_another_plugin(self):
        """One plugin holds nothing of another, of the host or of the daemon."""
        self.shop.plugin("bb")
        self.shop.write("state.json", '{"a": 1}')
        for path in (
            "../bb/main",
            "../../host/packages/host/src/index",
            "../../host/packages/api/src/index",
            "../../build/bound/bb/main.js",
            "../../state.json",
        ):
            code = f"import * as x from '{path}'; export default x;"
            self.shop.plugin("aa", main__ts=code)
            self.assertIn("plugins/aa/main.ts", await self.refusal("aa", "bb"), path)

    async def test_attack_other_modules(self):
        """Only the API is left for the host's bundle."""
        code = "import x from '../../build/static-plugins'; export default x;"
        self.shop.plugin("aa", main__ts=code)
        await self.refusal()
        for name, words in (
            ("@bridge/plugin-api/x", "plugins/aa/main.ts:1"),
            ("@bridge/static-plugins", "plugins/aa/main.ts:1 imports"),
        ):
            self.shop.plugin(
                "aa", main__ts=f"import x from '{name}'; export default x;"
            )
            self.assertIn(words, await self.refusal())

    async def test_attack_changed_between(self):
        """A bound bundle that somebody changes is not published."""
        real = Confinement.bind

        def bind(confinement, bindings):
            real(confinement, bindings)
            self.shop.write("build/bound/aa/main.js", "export default secret;")

        with mock.patch.object(Confinement, "bind", bind):
            error = await self.refusal()
        self.assertEqual(error, "build/bound/aa/main.js was changed during the build")

    async def test_attack_source_maps(self):
        """A comment of a plugin's brings no other file into the published map."""
        self.shop.write("secret.map", '{"version":3,"sources":["x"],"mappings":"AAAA"}')
        comment = "//# sourceMappingURL=../../secret.map"
        self.shop.plugin("aa", main__ts=f"export default [1];\n{comment}")
        self.assertIn("source map", await self.refusal())

    async def test_bundler_that_fails(self):
        """What ends the second step is one sentence, and the old bundle stays."""
        await self.shop.build("aa")
        before = self.shop.published()
        for error, words in (
            (TooComplexError(0), "aa is too complex to be bound to its scope"),
            (PacketError("odd"), "the bundler is not the pinned one: odd"),
        ):
            with mock.patch.object(build_module, "converse", side_effect=error):
                self.assertEqual(await self.refusal(), words)
        self.assertEqual(self.shop.published(), before)
