"""The version and the types of the host's plugin API."""

import json
import os
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

import bridge
from bridge.cli.authoring import hostapi
from bridge.cli.authoring import hostapi as module
from bridge.cli.authoring.programs import find_program, search_path
from bridge.cli.terminal import CommandError

from ...directories import fresh_directory, write_files
from ...npm import TYPESCRIPT, node, npm_package

HOST = Path(bridge.__file__).parent / "reference"
MODULE = "@bridge/plugin-api"
GOOD = """\
import { definePlugin } from "@bridge/plugin-api";
export default definePlugin({ id: "demo", activate(ctx) { ctx.logger.info("a"); } });
"""


class VersionTests(SynchronousTestCase):
    def test_version(self) -> None:
        """A package.json comes first, else an exported constant, if it is certain."""
        host = fresh_directory(self)
        self.assertIsNone(hostapi.api_version(host))
        text = "export const PLUGIN_API_VERSION: string = '0.5.0';\n"
        two = text + 'export const WIRE_VERSION = "2.0.0";\n'
        for name, content, found in (
            ("src/a.ts", "", None),
            ("src/a.ts", 'const VERSION = "1.0.0";', None),
            ("src/a.ts", 'export const VERSION = "one";', None),
            ("src/a.ts", two, None),
            ("package.json", "{}", None),
            ("src/a.ts", text, "0.5.0"),
            ("package.json", "[", "0.5.0"),
            ("package.json", '{"version": ["x"]}', "0.5.0"),
            ("src/b.ts", text, "0.5.0"),
            ("package.json", '{"version": "0.7.1"}', "0.7.1"),
            ("package.json", '{"version": "one"}', None),
        ):
            write_files(host / "packages" / "api", {name: content})
            self.assertEqual(hostapi.api_version(host), found)
        self.assertEqual(hostapi.api_version(HOST), "0.3.0")
        # VRCNext has it in the sources of its host.
        other = fresh_directory(self)
        write_files(other / "packages", {"host/src/api-version.ts": text})
        self.assertEqual(hostapi.api_version(other), "0.5.0")


class FindTests(SynchronousTestCase):
    """Where the compiler is looked for."""

    def setUp(self) -> None:
        """Two places with a compiler, one of them the plugin's."""
        base = fresh_directory(self).resolve()
        self.root, self.outside = base / "plugin", base / "outside"
        self.inside = self.root / "node_modules" / ".bin"
        for folder in (self.inside, self.outside):
            folder.mkdir(parents=True)
            (folder / "tsc").write_text("#!/bin/sh\n")
            (folder / "tsc").chmod(0o755)

    def find(self, *folders: Path | str) -> str | None:
        """The compiler with these folders on PATH."""
        self.patch(os, "environ", {"PATH": os.pathsep.join(map(str, folders))})
        return find_program(hostapi.COMPILER, self.root)

    def test_attack_compiler_of_the_plugin(self) -> None:
        """A program in the plugin's tree is never the compiler, however it is named."""
        self.assertIsNone(self.find(self.inside))
        self.assertEqual(
            self.find(self.inside, self.outside), str(self.outside / "tsc")
        )
        link = self.outside.with_name("link")
        link.symlink_to(self.inside)
        self.assertIsNone(self.find(link))
        (self.outside / "tsc").unlink()
        (self.outside / "tsc").symlink_to(self.inside / "tsc")
        self.assertIsNone(self.find(self.outside))
        (self.inside / "tsc").rename(self.root / "tsc")
        self.addCleanup(os.chdir, Path.cwd())
        os.chdir(self.root)
        self.assertIsNone(self.find(".", ""))
        # Nor does the compiler find programs there.
        self.assertIsNone(self.find(self.inside, self.outside))
        self.assertEqual(search_path(self.root), str(self.outside))


class TypesTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.base = fresh_directory(self)
        self.tree = self.base / "tree"
        self.tree.mkdir()
        (self.tree / "main.ts").write_text(GOOD)

    def errors(self) -> list[str]:
        folder = npm_package(TYPESCRIPT).parent / ".bin"
        self.patch(os, "environ", {**os.environ, "PATH": str(Path(node()).parent)})
        return hostapi.check_types(
            folder / "tsc", self.base / "plugin", self.tree, HOST, MODULE
        )

    def test_error(self) -> None:
        """An error has its file and its line; control characters are written out."""
        (self.tree / "part.ts").write_text("\nexport const n: number = '\x1b[2J';\n")
        text = 'import "./part";\n' + GOOD.replace("info", "inform")
        (self.tree / "main.ts").write_text(text)
        first, second = self.errors()
        self.assertTrue(first.startswith("main.ts:3 TS2551: "), first)
        self.assertTrue(second.startswith("part.ts:2 TS2322: "), second)
        self.assertNotIn("\x1b", first + second)

    def test_own_declarations(self) -> None:
        """What the plugin declares for what it imports counts."""
        (self.tree / "main.ts").write_text('import t from "./a.txt";\nt;\n' + GOOD)
        self.assertEqual(len(self.errors()), 1)
        (self.tree / "types.d.ts").write_text(
            'declare module "*.txt" { const text: string; export default text; }\n'
        )
        self.assertEqual(self.errors(), [])

    def test_own_configuration(self) -> None:
        """The plugin's own settings decide how strict it is."""
        (self.tree / "main.ts").write_text(
            GOOD + "export function f(a) { return a; }\n"
        )
        self.assertEqual(len(self.errors()), 1)
        (self.tree / "tsconfig.json").write_text(
            '{ // lax\n "compilerOptions": {"strict": false, "composite": true,'
            '"target": "ES2022", "module": "ESNext", "moduleResolution": "bundler",'
            '"types": ["node"], "rootDir": "src",},'
            '"include": ["src"], "references": [] }'
        )
        self.assertEqual(self.errors(), [])

    def test_attack_trace(self) -> None:
        """No option of the plugin's has the compiler write a file."""
        names = ("outDir", "generateTrace", "generateCpuProfile")
        options = dict.fromkeys(names, "out") | {"moduleResolution": "bundler"}
        text = json.dumps({"compilerOptions": {**options, "module": "ESNext"}})
        (self.tree / "tsconfig.json").write_text(text)
        self.assertEqual(self.errors(), [])
        self.assertFalse((self.tree / "out").exists())

    def test_broken_configuration(self) -> None:
        """A configuration that cannot be used is no error of the sources."""
        for text in (
            '{"extends": "@nobody/tsconfig/none.json"}',
            '{"compilerOptions": {"target": "ES1066"}}',
        ):
            (self.tree / "tsconfig.json").write_text(text)
            with self.assertRaisesRegex(CommandError, "could not check the types: "):
                self.errors()

    def fake(self, text: str) -> str:
        """Run a program instead of the compiler; gives why the types are unknown."""
        program = self.base / "fake"
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        root = self.base / "plugin"
        with self.assertRaises(CommandError) as caught:
            hostapi.check_types(program, root, self.tree, HOST, MODULE)
        return str(caught.exception)

    def test_no_compiler(self) -> None:
        """What fails, takes too long or cannot be run has not checked anything."""
        self.assertIn("it ended with 3", self.fake("exit 3"))
        with (
            self.assertRaisesRegex(CommandError, "^there is no tsc on PATH outside"),
            mock.patch.dict(os.environ, {"PATH": ""}),
        ):
            hostapi.check_types(None, Path(), self.tree, HOST, MODULE)
        self.patch(module, "TYPES_SECONDS", 0.2)
        self.assertEqual(self.fake("exec sleep 60"), "tsc took over 0.2 s")
        with self.assertRaisesRegex(CommandError, "cannot be run: No such file"):
            hostapi.check_types(Path("/none"), Path(), self.tree, HOST, MODULE)

    def test_attack_environment(self) -> None:
        """Keys and tokens in the environment do not reach the compiler."""
        self.patch(os, "environ", {**os.environ, "BRIDGE_SIGNING_KEY": "Zq9"})
        self.fake(f"env > {self.base}/seen; exit 3")
        self.assertNotIn("Zq9", (self.base / "seen").read_text())
