"""
What is asked of the bundler, and what may be shown of its messages; builds with the
real bundler: how it reads the sources of plugins, and which.
"""

import ntpath
import os
import re
import shutil
from collections.abc import Iterator
from typing import Any
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.bundling import HIDDEN, Sources, Target, shown_messages
from bridge.plugins.bundle.metafile import API_TEXT
from bridge.plugins.policy.reading import loader_arguments
from bridge.protocol.limits import BUILD_OUTPUT_CHARACTERS
from bridge.settings.host import load_profile

from ...npm import run_node
from .workshop import BuildCase

SECRET = "7d0f0bncl3FULVh3l1wEHWEJVe8q5aMvmcOyVJTjndc"
OURS = "plugins/good/main.ts"


def message(file: str | None, text: str = "Syntax error", **more: Any) -> Any:
    """A message as the service has it."""
    place = {"file": file, "line": 2, "column": 4, "lineText": "  let a = ;"}
    found: dict[str, Any] = {
        "text": text,
        "notes": [],
        "location": place if file else None,
    }
    return found | more


class MessagesTests(SynchronousTestCase):
    def test_our_own(self):
        """Messages about the host, the table and plugins have place, text and line."""
        for place in (
            "plugins/good/src/a.ts",
            "host/packages/host/src/index.ts",
            "build/static-plugins.ts",
            "(disabled):plugins/good/x.ts",
        ):
            self.assertEqual(
                shown_messages([message(place), message(place)]),
                f"{place}:2:4: Syntax error\n    let a = ;",
            )

    def test_attack_quoting_a_secret(self):
        """Nothing is quoted of any other file, nor are messages about it."""
        for place in (
            "token",
            "state.json",
            "../../etc/passwd",
            "/etc/passwd",
            "plugins/good/../../token",
            "plugins\\good\\..\\..\\token",
            "hosting/token",
            "<tsconfig.json>",
        ):
            evil = message(place, f'found "{SECRET}"')
            evil["location"]["lineText"] = SECRET
            shown = shown_messages([message(OURS), evil, message(OURS)])
            self.assertNotIn(SECRET, shown, place)
            self.assertEqual(shown.splitlines()[-1], HIDDEN)
            self.assertIn(OURS, shown)
            # Nor in a note of a message about a file of ours.
            shown = shown_messages([message(OURS, notes=[evil])])
            self.assertEqual(shown, f"{OURS}:2:4: Syntax error\n    let a = ;")

    def test_no_place(self):
        """A message about no file is shown."""
        text = 'Could not resolve "host/packages/host/src/index.ts"'
        self.assertEqual(shown_messages([message(None, text)]), text)

    def test_advice(self):
        """Authors read what they can do; the host's sources are not theirs."""
        text = 'Could not resolve "lodash"'
        shown = shown_messages([message(OURS, text)])
        self.assertIn(f"{text}, which is neither the host's API nor in the", shown)
        shown = shown_messages([message("host/packages/host/src/a.ts", text)])
        self.assertIn(f"{text}\n", shown)

    def test_notes(self):
        """A note with a place belongs to its message; advice about options does not."""
        advice = {"text": "You can mark the path as external", "location": None}
        note = message(OURS, "It was first declared here.")
        shown = shown_messages([message(OURS, notes=[advice, note])])
        self.assertEqual(len(shown.splitlines()), 4)
        self.assertIn("It was first declared here.", shown)
        self.assertNotIn("external", shown)

    @given(st.lists(st.text(max_size=3000), max_size=4))
    def test_attack_any_text(self, texts):
        """What is shown is short, and controls no terminal."""
        given_messages = [message(OURS, text) for text in texts]
        for one in given_messages:
            one["location"]["lineText"] = one["text"] * 2
        shown = shown_messages(given_messages)
        self.assertLessEqual(len(shown), BUILD_OUTPUT_CHARACTERS)
        self.assertFalse(set("\x1b\x00\u202e") & set(shown))


class FlagsTests(SynchronousTestCase):
    def test_for_real_users(self):
        """They are the ones that hosts are written for, in this order."""
        self.assertEqual(
            Target.host(load_profile("vrcnext")).flags,
            [
                "--bundle",
                "--format=iife",
                "--target=es2022",
                '--tsconfig-raw={"compilerOptions":{"target":"es2022",'
                '"useDefineForClassFields":true,"alwaysStrict":true}}',
                *loader_arguments(),
                "--platform=browser",
                "--metafile",
                "--sources-content=false",
                "--log-level=silent",
                "--minify",
                "--sourcemap=linked",
                "--alias:@vrcnext/plugin-api=./host/packages/api/src/index.ts",
                "--alias:@vrcnext/static-plugins=./build/static-plugins.ts",
            ],
        )


NEITHER = "which is neither source nor data; these are called NAME.ts"
CODE = "export default 'UNSCANNED';"


class AskedTests(BuildCase):
    @given(st.sampled_from(("/home/é x/(a)", "/d-[0]\\n")), st.text("host/plugins."))
    def test_attack_not_asked_for(self, root: str, below: str) -> None:
        """It reads what is in the host's directory by itself, and nothing else."""
        path = f"{root}/{below}"
        asked = re.search(Sources(root, {}).asked_for, path) is not None
        self.assertEqual(asked, not below.startswith("host/"))

    def test_separator(self) -> None:
        """Where paths have backslashes, a plugin gets the API's text all the same."""
        sources = Sources("C:\\data", {API_TEXT: b"the API"})
        with mock.patch.object(os, "sep", "\\"), mock.patch.object(os, "path", ntpath):
            place = sources.reply({"command": "on-resolve", "ids": [0]})["path"]
            asked = {"command": "on-load", "ids": [0], "path": place, "with": {}}
            self.assertEqual(sources.reply(asked)["contents"], b"the API")


class StrictTests(BuildCase):
    """The kinds of source, and the mode the code of a bundle runs in."""

    THIS = "(function () { return typeof this; })()"
    GLOBAL = "(0, function () { return this })() !== undefined"

    async def test_attack_this_of_a_plain_function(self):
        """Nowhere is it the window: each is compiled as the kind the scan reads."""
        seen = f"console.log('seen', {self.THIS}, {self.GLOBAL});"
        module = f"{seen} export default 1;"
        common = f"{seen} module.exports = 1;"
        typed = f"{seen} export default <any>1;"
        element = f"{seen} export default () => <a href='x' />;"
        files = {
            "a.ts": typed,
            "a.mts": typed,
            "a.cts": f"{seen} export = <any>1;",
            "b.tsx": element,
            "c.js": module,
            "c.mjs": module,
            "d.jsx": element,
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
        await self.built()
        self.assertEqual(self.shop.warnings, [])
        output = run_node(self.shop.bundle).splitlines()
        lines = [line for line in output if line.startswith("seen")]
        self.assertEqual(lines, ["seen undefined false"] * (len(files) + 1))

    async def test_attack_sloppy_syntax(self):
        """What only sloppy code may hold is an error that names its line."""
        for text in ("with (a) b();", "let x = 010;", "delete x;"):
            for name in ("x.js", "x.cjs", "node_modules/x/index.js"):
                self.shop.write(f"plugins/aa/{name}", f"\nvar a;\n{text}")
                self.shop.plugin("aa", main__ts=f"import './{name}'")
                refusal = await self.refusal()
                self.assertIn(f"plugins/aa/{name}:3:", refusal)
                self.assertIn("cannot be used in strict mode", refusal, text)
                self.assertNotIn("tsconfig", refusal)

    async def test_the_whole_bundle(self):
        """Not even a bundle of the host alone has sloppy code."""
        await self.shop.build()
        self.assertTrue(self.shop.bundle.read_bytes().startswith(b'"use strict";'))


class ErasedTests(BuildCase):
    """Imports that the language drops, and those that remain."""

    async def test_what_builds(self):
        """Dropped imports lead anywhere; helpers of the bundler are in reach."""
        for text in (
            "import x from 'missing'; export default 1;",
            "import x from './missing'; export default 1;",
            "import { type T } from 'types'; export default 1 as T;",
            "import type { T } from 'types'; export default 1 as T;",
            "import * as React from 'react'; export default 1 as React.T;",
            "import x from 'https://x.example/x.js'; export default 1 as x;",
            "export type { T } from 'types'; export default 1;",
            "import { T } from '../../host/packages/host/src/x'; export default <T>1;",
            # Syntax that is lowered to calls of helpers.
            "function d(f: any, _: any) { return f; }\n"
            "export default class { @d m() {} @d accessor x = 1; }",
            "export default () => { using x = { [Symbol.dispose]() {} }; return x; };",
            "export default async () => { await using x = null; };",
        ):
            self.shop.write("plugins/aa/main.ts", text)
            await self.built()

    async def test_attack_imports_that_remain(self):
        """What the browser would have to fetch is refused, wherever it is written."""
        url, other = "https://x.example/x.js", "another module"
        for text, what in (
            (f"import x from '{url}'; export default x;", other),
            (f"import '{url}'; export default 1;", other),
            (f"export {{ x }} from '{url}'; export default 1;", other),
            (f"export default () => import('{url}');", other),
            (f"export default require('{url}');", other),
            ("import x from '//x.example/x.js?y'; export default x;", other),
            # What the bundler leaves because its failure is caught.
            ("export default () => { try { require('x/y:z') } catch {} };", other),
            ("export default () => import('@x/y').catch(() => 1);", '"@x/y"'),
            (
                "export default async () => { try { await import('@x/y') } catch {} };",
                '"@x/y"',
            ),
        ):
            self.shop.write("plugins/aa/main.ts", f"// '@x/y'\n{text}")
            where = "plugins/aa/main.ts:2"
            refusal = f"{where} imports {what}, which is not in the bundle"
            self.assertEqual(await self.refusal(), refusal, text)

    async def test_attack_pattern(self):
        """A computed name, for which the bundler adds files, leads nowhere."""
        self.shop.plugin("bb")
        self.shop.write("host/packages/host/src/gate.ts", "export const open = true;")
        self.shop.write("plugins/aa/sub/x.ts", "export default 1;")
        for text in (
            "import('./sub/' + n)",
            "require('../bb/' + n + '.ts')",
            "import(`../../host/packages/host/src/${n}.ts`)",
            "import(`./a${n}/b${n}.ts`).catch(() => 1)",
        ):
            self.shop.write("plugins/aa/main.ts", f"\nexport default (n) => {text};")
            self.assertEqual(
                await self.refusal("aa", "bb"),
                "plugins/aa/main.ts:2 imports files by a pattern; name each",
                text,
            )


def unscanned() -> Iterator[tuple[str, str, dict[str, str]]]:
    """
    List imports of files that no scan has seen as what the bundler reads.

    :return: The statement, the end of its refusal, and the files of the plugin.
    """
    own, package = "plugins/aa/", "node_modules/p/"
    yield "import x from './x'", f"Do not know how to load path: {own}x", {"x": CODE}
    for name in (".ts", "..js", "sub/.tsx", "...cjs"):
        error = f"may not import {own}{name}, {NEITHER}"
        yield f"import x from './{name}'", error, {name: CODE}
    yield "import x from './sub'", "Could not resolve", {"sub/index": CODE}
    error = f"may not import {own}.ts, {NEITHER}"
    named = '{"name": "aa", "imports": {"#x": "./.ts"}}'
    yield "import x from '#x'", error, {".ts": CODE, "package.json": named}
    error = f"may not import {own}{package}.ts, {NEITHER}"
    yield "import x from 'p/.ts'", error, {f"{package}.ts": CODE}
    for fields in (
        '"main": "./.ts"',
        '"module": "./.ts"',
        '"exports": {".": {"import": "./.ts"}}',
        '"main": "y.js", "browser": {"./y.js": "./.ts"}',
    ):
        named = f'{{"name": "p", {fields}}}'
        files = {f"{package}.ts": CODE, f"{package}y.js": ""}
        yield "import x from 'p'", error, {**files, f"{package}package.json": named}
    for kind in ("text", "json", "bytes"):
        asked = f"import x from './x.html' with {{ type: '{kind}' }}"
        yield asked, f"may not import {own}x.html, {NEITHER}", {"x.html": '"<b>"'}
    for name, why in (
        ("y.js", "which is source, as data"),
        ("y.ts", "which is source, as data"),
        ("y.test.json", "which is a test file"),
    ):
        asked = f"import x from './{name}' with {{ type: 'text' }}"
        yield asked, f"may not import {own}{name}, {why}", {name: CODE}
    both = "import './y.js'; import x from './y.js' with { type: 'text' }"
    yield both, f"may not import {own}y.js, which is source, as data", {"y.js": CODE}
    for name in ("x.css", "x.module.css", ".css"):
        error = f"may not import {own}{name}, which is a style sheet"
        yield f"import x from './{name}'", error, {name: "a { color: red }"}


class ScannedTests(BuildCase):
    """Files, and what the scan has seen them as."""

    async def test_attack_unscanned(self):
        """Whatever leads to a file that no scan has seen so is refused, with a line."""
        for statement, error, files in unscanned():
            shutil.rmtree(self.shop.data.plugin("aa"))
            self.shop.plugin("aa")
            for name, text in files.items():
                self.shop.write(f"plugins/aa/{name}", text)
            main = f"\n{statement}; console.log(x); export default 1;"
            self.shop.write("plugins/aa/main.ts", main)
            refusal = await self.refusal()
            self.assertIn("plugins/aa/main.ts:2", refusal)
            self.assertIn(error, refusal, files)

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
        await self.built()

    async def test_attack_character_cut_off(self):
        """No source map can have such a file, and the refusal says so."""
        # Source would be quoted, too.
        for name, text in (("x.txt", b"caf\xe9\n"), ("x.js", b"module.exports = \xe9")):
            self.shop.plugin(
                "aa", main__ts=f"import x from './{name}'; export default x"
            )
            self.shop.write(f"plugins/aa/{name}", text)
            self.assertIn(f"plugins/aa/{name} is not UTF-8", await self.refusal())
