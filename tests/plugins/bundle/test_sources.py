"""Builds with the real bundler: how it reads the sources of plugins, and which."""

from __future__ import annotations

from ...npm import run_node
from .workshop import BuildCase

NEITHER = "which is neither source nor data; these are called NAME.ts"
CODE = "export default 'UNSCANNED';"


class StrictTests(BuildCase):
    """The mode the code of a bundle runs in."""

    THIS = "(function () { return typeof this; })()"
    GLOBAL = "(0, function () { return this })() !== undefined"

    def run_bundle(self) -> list[str]:
        """Run what was published, as a script; give the lines it writes."""
        return run_node(self.shop.bundle).splitlines()

    async def test_attack_this_of_a_plain_function(self):
        """Nowhere is it the window, in no kind of module and no directory."""
        seen = f"console.log('seen', {self.THIS}, {self.GLOBAL});"
        module = f"{seen} export default 1;"
        common = f"{seen} module.exports = 1;"
        files = {
            "a.ts": module,
            "a.mts": module,
            "a.cts": f"{seen} export = 1;",
            "b.tsx": module,
            "c.js": module,
            "c.mjs": module,
            "d.jsx": module,
            "e.cjs": common,
            "f.js": common,
            "node_modules/g/index.js": common,
            "node_modules/h/index.js": module,
            "k/l.js": common,
        }
        for name, text in files.items():
            self.shop.write(f"plugins/aa/{name}", text)
        self.shop.write("plugins/aa/k/package.json", '{"type": "commonjs"}')
        imports = [f"import x{n} from './{name}';" for n, name in enumerate(files)]
        used = ", ".join(f"x{n}" for n in range(len(files)))
        self.shop.write(
            "plugins/aa/main.ts",
            "\n".join([*imports, f"{seen} export default [{used}]"]),
        )
        report = await self.shop.build("aa")
        self.assertEqual(report.errors, [])
        self.assertEqual(self.shop.warnings, [])
        lines = [line for line in self.run_bundle() if line.startswith("seen")]
        self.assertEqual(lines, ["seen undefined false"] * (len(files) + 1))

    async def test_attack_sloppy_syntax(self):
        """What only sloppy code may hold is an error that names its line."""
        for text in ("with (a) b();", "let x = 010;", "delete x;"):
            for name in ("x.js", "x.cjs", "node_modules/x/index.js"):
                with self.subTest(text=text, name=name):
                    self.shop.write(f"plugins/aa/{name}", f"\nvar a;\n{text}")
                    self.shop.plugin("aa", main__ts=f"import './{name}'")
                    refusal = await self.refusal()
                    self.assertIn(f"plugins/aa/{name}:3:", refusal)
                    self.assertIn("cannot be used in strict mode", refusal)
                    self.assertNotIn("tsconfig", refusal)

    async def test_the_whole_bundle(self):
        """Not even a bundle of the host alone has sloppy code."""
        await self.shop.build()
        self.assertTrue(self.shop.bundle.read_bytes().startswith(b'"use strict";'))


class ErasedTests(BuildCase):
    """Imports that the language drops, and those that remain."""

    async def builds(self, text: str) -> None:
        """The plugin builds, twice to the same bytes."""
        self.shop.write("plugins/aa/main.ts", text)
        report = await self.shop.build("aa")
        self.assertEqual(report.errors, [])
        first = self.shop.published()
        await self.shop.build("aa")
        self.assertEqual(self.shop.published(), first)

    async def test_imports_that_are_dropped(self):
        """They need not lead anywhere, since nothing of them is in the bundle."""
        for text in (
            "import x from 'missing'; export default 1;",
            "import x from './missing'; export default 1;",
            "import { type T } from 'types'; export default 1 as T;",
            "import { type T } from '@scope/types'; let t: T; export default t;",
            "import type { T } from 'types'; export default 1 as T;",
            "import * as React from 'react'; export default 1 as React.T;",
            "import x from 'https://x.example/x.js'; export default 1 as x;",
            "export type { T } from 'types'; export default 1;",
            "import { T } from '../../host/packages/host/src/x'; export default <T>1;",
        ):
            with self.subTest(text=text):
                await self.builds(text)

    async def test_helpers_of_the_bundler(self):
        """Syntax that is lowered to calls of helpers is in every bundle's reach."""
        for text in (
            "function d(f: any, _: any) { return f; }\n"
            "export default class { @d m() {} @d accessor x = 1; }",
            "export default () => { using x = { [Symbol.dispose]() {} }; return x; };",
            "export default async () => { await using x = null; };",
        ):
            with self.subTest(text=text):
                await self.builds(text)

    async def test_attack_imports_that_remain(self):
        """What the browser would have to fetch is refused, wherever it is written."""
        url = "https://x.example/x.js"
        for text in (
            f"import x from '{url}'; export default x;",
            f"import '{url}'; export default 1;",
            f"export * from '{url}'; export default 1;",
            f"export {{ x }} from '{url}'; export default 1;",
            f"export default () => import('{url}');",
            f"export default require('{url}');",
            "import x from '//x.example/x.js?y'; export default x;",
            "export default () => { try { require('x/y:z') } catch {} };",
            "export default () => import('x y').catch(() => 1);",
        ):
            with self.subTest(text=text):
                self.shop.write("plugins/aa/main.ts", f"\n{text}")
                self.assertEqual(
                    await self.refusal(),
                    "plugins/aa/main.ts:2 imports another module, which is not in the "
                    "bundle",
                )

    async def test_attack_imports_that_may_fail(self):
        """Nor is what the bundler leaves because its failure is caught."""
        for text in (
            "export default () => { try { require('@x/y') } catch {} };",
            "export default () => import('@x/y').catch(() => 1);",
            "export default async () => { try { await import('@x/y') } catch {} };",
        ):
            with self.subTest(text=text):
                self.shop.write("plugins/aa/src/x.ts", f"// '@x/y'\n\n{text}")
                self.shop.write(
                    "plugins/aa/main.ts", "export { default } from './src/x';"
                )
                refusal = await self.refusal()
                self.assertIn("plugins/aa/src/x.ts:3", refusal)
                self.assertIn('"@x/y"', refusal)

    async def test_attack_pattern(self):
        """A computed name, for which the bundler adds files, leads nowhere."""
        self.shop.plugin("bb")
        self.shop.write("host/packages/host/src/gate.ts", "export const open = true;")
        self.shop.write("plugins/aa/sub/x.ts", "export default 1;")
        for prefix in ("./sub/", "../bb/", "../../host/packages/host/src/", "./"):
            for text in (
                f"import('{prefix}' + n)",
                f"require('{prefix}' + n + '.ts')",
                f"import(`{prefix}${{n}}.ts`)",
                f"import(`{prefix}a${{n}}/b${{n}}.ts`).catch(() => 1)",
            ):
                with self.subTest(text=text):
                    self.shop.write(
                        "plugins/aa/main.ts", f"\nexport default (n) => {text};"
                    )
                    refusal = await self.refusal("aa", "bb")
                    self.assertEqual(
                        refusal,
                        "plugins/aa/main.ts:2 imports files by a pattern; name each",
                    )

    async def test_attack_import_unused_in_javascript(self):
        """JavaScript runs what it imports, used or not."""
        self.shop.write("plugins/aa/x.js", "import x from 'https://x.example/x.js';")
        self.shop.write("plugins/aa/main.ts", "import './x.js'; export default 1;")
        self.assertIn("plugins/aa/x.js:1 imports another", await self.refusal())

    async def test_package_that_is_missing(self):
        """A package the plugin uses and has not is the bundler's own error."""
        self.shop.write(
            "plugins/aa/main.ts", "import x from 'react'; export default x;"
        )
        error = await self.refusal()
        self.assertIn('Could not resolve "react"', error)
        self.assertIn("plugins/aa/main.ts:1:", error)
        self.assertNotIn("external", error)


class ScannedTests(BuildCase):
    """Files that no scan has seen as what the bundler reads."""

    async def refuses(self, main: str, error: str, **files: str) -> None:
        """
        The build is refused with this error, at line 2 of main.ts.

        :param files: Further files of the plugin, by their paths.
        """
        for name, text in files.items():
            self.shop.write(f"plugins/aa/{name}", text)
        self.shop.write("plugins/aa/main.ts", f"\n{main}; export default 1;")
        refusal = await self.refusal()
        self.assertIn("plugins/aa/main.ts:2", refusal)
        self.assertIn(error, refusal)

    async def test_attack_file_without_an_extension(self):
        """A file with no dot in its name is not read."""
        await self.refuses(
            "import x from './x'; x()",
            "Do not know how to load path: plugins/aa/x",
            x=CODE,
        )

    async def test_attack_file_named_like_an_extension(self):
        """Nor may a file be called by an ending alone, though it is read."""
        for name in (".ts", "..js", "sub/.tsx", "...cjs"):
            await self.refuses(
                f"import x from './{name}'; x()",
                f"may not import plugins/aa/{name}, {NEITHER}",
                **{name: CODE},
            )

    async def test_attack_directory_index(self):
        """Nor behind the name of a directory."""
        await self.refuses(
            "import x from './sub'; x()",
            "Could not resolve",
            **{"sub/index": CODE},
        )
        await self.refuses(
            "import x from './sub'; x()",
            f"may not import plugins/aa/sub/.js, {NEITHER}",
            **{"sub/.js": CODE, "sub/package.json": '{"main": "./.js"}'},
        )

    async def test_attack_fields_of_a_package(self):
        """Nor by what a package.json leads to."""
        for fields in (
            '"main": "FILE"',
            '"module": "FILE"',
            '"browser": "FILE"',
            '"exports": "./FILE"',
            '"exports": {".": {"import": "./FILE"}}',
            '"main": "y.js", "browser": {"./y.js": "./FILE"}',
        ):
            for name, error in (
                ("x", "Do not know how to load path: plugins/aa/node_modules/p/x"),
                (".ts", f"may not import plugins/aa/node_modules/p/.ts, {NEITHER}"),
            ):
                with self.subTest(fields=fields, name=name):
                    package = f'{{"name": "p", {fields.replace("FILE", name)}}}'
                    await self.refuses(
                        "import x from 'p'; x()",
                        error,
                        **{
                            f"node_modules/p/{name}": CODE,
                            "node_modules/p/y.js": "",
                            "node_modules/p/package.json": package,
                        },
                    )

    async def test_attack_imports_of_a_package(self):
        """Nor by the names a package gives to its own files."""
        for name, error in (
            ("x", "Do not know how to load path: plugins/aa/x"),
            ("..js", f"may not import plugins/aa/..js, {NEITHER}"),
        ):
            package = f'{{"name": "aa", "imports": {{"#x": "./{name}"}}}}'
            await self.refuses(
                "import x from '#x'; x()",
                error,
                **{name: CODE, "package.json": package},
            )

    async def test_attack_file_of_a_package(self):
        """Nor by the path in a package."""
        await self.refuses(
            "import x from 'x/x'; x()",
            "Do not know how to load path: plugins/aa/node_modules/x/x",
            **{"node_modules/x/x": CODE},
        )
        await self.refuses(
            "import x from 'x/.mjs'; x()",
            f"may not import plugins/aa/node_modules/x/.mjs, {NEITHER}",
            **{"node_modules/x/.mjs": CODE},
        )

    async def test_attack_attributes(self):
        """An attribute does not make an input of any file."""
        for kind in ("text", "json", "bytes"):
            await self.refuses(
                f"import x from './x.html' with {{ type: '{kind}' }}; x()",
                f"may not import plugins/aa/x.html, {NEITHER}",
                **{"x.html": '"<b>"'},
            )
        await self.refuses(
            "import x from './y.js' with { type: 'text' }; x()",
            "may not import plugins/aa/y.js, which is source, as data",
            **{"y.js": CODE},
        )

    async def test_attack_style_sheets(self):
        """No kind of style sheet is read, nor what one names."""
        for name in ("x.css", "x.module.css", ".css"):
            await self.refuses(
                f"import x from './{name}'; console.log(x)",
                f"may not import plugins/aa/{name}, which is a style sheet",
                **{name: "@import '../../state.json'; a { color: red }"},
            )

    async def test_data(self):
        """JSON and text are data, however they are asked for."""
        self.shop.write("plugins/aa/x.json", '{"a": 1}')
        self.shop.write("plugins/aa/x.txt", "some text")
        self.shop.write(
            "plugins/aa/main.ts",
            "import a from './x.json';\n"
            "import b from './x.json' with { type: 'json' };\n"
            "import c from './x.txt';\n"
            "import d from './x.txt' with { type: 'text' };\n"
            "export default [a, b, c, d];\n",
        )
        report = await self.shop.build("aa")
        self.assertEqual(report.errors, [])

    async def test_sources(self):
        """Every kind of source builds as the kind the scan reads it as."""
        files = {
            "a.ts": "export default <any>1;",
            "a.mts": "export default <any>1;",
            "a.cts": "export = <any>1;",
            "a.tsx": "export default () => <a href='x' />;",
            "a.jsx": "export default () => <a href='x' />;",
            "a.js": "export default 1;",
            "a.mjs": "export default 1;",
            "a.cjs": "module.exports = 1;",
        }
        for name, text in files.items():
            self.shop.write(f"plugins/aa/{name}", text)
        main = [f"export * as x{n} from './{name}';" for n, name in enumerate(files)]
        self.shop.write("plugins/aa/main.ts", "\n".join([*main, "export default 1;"]))
        report = await self.shop.build("aa")
        self.assertEqual(report.errors, [])
