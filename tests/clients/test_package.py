"""The npm package of the TypeScript client."""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from twisted.trial.unittest import SynchronousTestCase

import bridge

from ..docs.commands import fences
from ..npm import ESBUILD_VERSION, ROOT, TYPESCRIPT, node, npm, npm_package
from .packing import NODE_TYPES, PACKAGE, SOURCE, checkout, compiled, packed, run, tools

USE = Path(__file__).with_name("use.ts").read_text("utf-8")
MISUSE = (
    '= bridge.call("state/gte", { ns: "host", key: "a" })',
    '= bridge.call("state/get")',
    '= bridge.call("state/get", { ns: "host", key: 1 })',
    '= bridge.on("built", () => undefined)',
    '= bridge.on("build", ({ fine }) => fine)',
    '= bridge.operate("state/get", { ns: "host", key: "a" })',
    '= bridge.on("state", (state) => state === "ready")',
    ': Params<"state/get"> = { ns: "host" }',
    ': Params<"state/get"> = { ns: "host", key: "a", more: 1 }',
    ': Params<"osc/send">["args"] = [{ kind: "blob", value: 1 }]',
    ': Params<"notify/send"> = { title: "a", urgency: "soon" }',
    ': Params<"notify/targets"> = { more: 1 }',
    ': Result<"state/list">["entries"] = 5',
    ': Events["error"]["retryAfter"] = "soon"',
    ': MethodName = "state/gets"',
    ': ErrorCode = "teapot"',
)
"""What the protocol does not have, each after the name of a constant."""


class PackageTests(SynchronousTestCase):
    def test_files(self) -> None:
        """It has one module, declarations of each source, and nothing else."""
        declarations = {f"dist/{p.stem}.d.ts" for p in SOURCE.glob("*.ts")}
        self.assertEqual(
            packed().files,
            {
                "LICENSE",
                "README.md",
                "package.json",
                "dist/index.js",
                "dist/index.js.map",
                *declarations,
            },
        )
        self.assertEqual(packed().warnings, "")

    def test_manifest(self) -> None:
        """It needs nothing, and has this project's version and licence."""
        manifest = json.loads((PACKAGE / "package.json").read_text("utf-8"))
        self.assertEqual(manifest["version"], bridge.__version__)
        for kind in ("dependencies", "peerDependencies", "optionalDependencies"):
            self.assertNotIn(kind, manifest)
        licence = (ROOT / "LICENSE").read_bytes()
        self.assertEqual((packed().root / "LICENSE").read_bytes(), licence)

    def test_pins(self) -> None:
        """It is built with the bundler that the daemon pins, and tested compilers."""
        manifest = json.loads((PACKAGE / "package.json").read_text("utf-8"))
        tested = (TYPESCRIPT, NODE_TYPES, f"esbuild@{ESBUILD_VERSION}")
        pinned = {f"{n}@{v}" for n, v in manifest["devDependencies"].items()}
        self.assertEqual(pinned, set(tested))

    def test_module(self) -> None:
        """The module imports nothing, and needs no page to be loaded."""
        code = (packed().root / "dist" / "index.js").read_text("utf-8")
        self.assertNotRegex(code, r"(?m)^import |\brequire\(|\bimport\(")
        shown = "(m) => console.log(typeof m.createBridge)"
        line = f'import("@plugin-bridge/client").then({shown})'
        done = run(node(), "--eval", line, cwd=packed().home)
        self.assertEqual((done.stdout, done.stderr), ("function\n", ""))

    def test_attack_no_evaluation(self) -> None:
        """The client itself evaluates nothing; a page decides what a snippet may do."""
        code = (packed().root / "dist" / "index.js").read_text("utf-8")
        self.assertNotRegex(code, r"\beval\(|new Function|AsyncFunction")


class TypesTests(SynchronousTestCase):
    """Tests for what a user's compiler finds, with the packed declarations."""

    def test_programs(self) -> None:
        """What is right compiles, README's examples too; each misuse is an error."""
        blocks = [
            t for language, t in fences(PACKAGE / "README.md") if language == "ts"
        ]
        self.assertGreater(len(blocks), 2)
        lines = [f"export const x{n} {line};" for n, line in enumerate(MISUSE)]
        # Below its home, or the compiler would not find the package.
        with TemporaryDirectory(dir=packed().home) as name:
            folder = Path(name)
            (folder / "package.json").write_text('{"type": "module"}')
            (folder / "readme.ts").write_text("\n".join(blocks), "utf-8")
            (folder / "use.ts").write_text(USE + "\n".join(lines) + "\n", "utf-8")
            found = compiled(folder)
        first = len(USE.splitlines()) + 1
        wrong = re.findall(r"(?m)^\S*?(\w+)\.ts\((\d+),", found)
        expected = {("use", str(first + n)) for n in range(len(MISUSE))}
        self.assertEqual(set(wrong), expected, found)


class UnitTests(SynchronousTestCase):
    def test_types(self) -> None:
        """They pass the strict compiler."""
        packed()
        folder = PACKAGE / "test"
        roots = str(packed().home / "node_modules" / "@types")
        compiler = npm_package(TYPESCRIPT) / "bin" / "tsc"
        done = run(
            node(), compiler, "--noEmit", "-p", folder, "--typeRoots", roots, cwd=folder
        )
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_all_pass(self) -> None:
        """``npm test`` runs each test file of the client, and all of them pass."""
        directory = TemporaryDirectory(prefix="bridge-client-")
        self.addCleanup(directory.cleanup)
        scratch = Path(directory.name)
        package = checkout(scratch / "checkout")
        done = run(npm(), "test", cwd=package, path=tools(scratch / "bin"))
        report = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, report[-20_000:])
        written = sum(
            len(re.findall(r"(?m)^test\(", file.read_text("utf-8")))
            for file in (PACKAGE / "test").glob("*.test.ts")
        )
        passed = re.search(r"(?m)^(?:#|\u2139) pass (\d+)$", report)
        assert passed is not None, report[-2000:]
        self.assertEqual(int(passed[1]), written)
