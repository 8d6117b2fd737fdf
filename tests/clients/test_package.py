"""The npm package of the TypeScript client."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from twisted.trial.unittest import SynchronousTestCase

import bridge

from ..docs.commands import fences
from ..npm import ESBUILD_VERSION, ROOT, TYPESCRIPT, node, npm, npm_package
from .packing import NODE_TYPES, PACKAGE, SOURCE, checkout, compiled, packed, run, tools

USE = """\
import { type Bridge, LIMITS, RefusedError, createBridge } from "@plugin-bridge/client";

const options = { endpoint: "http://127.0.0.1:42081", client: "my-page/1.0.0" };
export const bridge: Bridge = createBridge({ ...options, token: "TOKEN" });
export const value: Promise<{ value?: unknown }> = bridge.call("state/get", {
  ns: "host",
  key: "a",
});
void bridge.call("plugins/list");
void bridge.call("plugins/list", {}, { signal: AbortSignal.timeout(1), timeoutMs: 5 });
bridge.on("build", ({ ok }) => console.log(ok));
bridge.on("state", (state, { reason }) => console.log(state, reason, LIMITS));
void bridge
  .operate(
    "plugins/update",
    { id: "a" },
    { onProgress: ({ step }) => console.log(step) },
  )
  .catch((error: unknown) => error instanceof RefusedError && error.prefix);
"""

MISUSE = {
    "a method that is none": 'bridge.call("state/gte", { ns: "host", key: "a" })',
    "no parameters": 'bridge.call("state/get")',
    "a parameter too few": 'bridge.call("state/get", { ns: "host" })',
    "another type": 'bridge.call("state/get", { ns: "host", key: 1 })',
    "no such event": 'bridge.on("built", () => undefined)',
    "an event's other fields": 'bridge.on("build", ({ fine }) => fine)',
    "no operation": 'bridge.operate("state/get", { ns: "host", key: "a" })',
    "no such state": 'bridge.on("state", (state) => state === "ready")',
}


class PackageTests(SynchronousTestCase):
    """Tests for what is published."""

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

    def compile(self, text: str) -> str:
        """Compile a program that uses the package."""
        # Below its home, or the compiler would not find the package.
        directory = TemporaryDirectory(dir=packed().home)
        self.addCleanup(directory.cleanup)
        folder = Path(directory.name)
        (folder / "package.json").write_text('{"type": "module"}')
        (folder / "use.ts").write_text(text, "utf-8")
        return compiled(folder)

    def test_use(self) -> None:
        """Calls, events and operations are typed, with no check left out."""
        self.assertEqual(self.compile(USE), "")

    def test_misuse(self) -> None:
        """What the protocol does not have is an error, each on its line."""
        lines = [
            f"export const x{n} = {line};" for n, line in enumerate(MISUSE.values())
        ]
        found = self.compile(USE + "\n".join(lines) + "\n")
        first = len(USE.splitlines()) + 1
        at = {int(line) - first for line in re.findall(r"use\.ts\((\d+),", found)}
        missed = [name for n, name in enumerate(MISUSE) if n not in at]
        self.assertEqual((missed, at - {*range(len(MISUSE))}), ([], set()), found)

    def test_readme(self) -> None:
        """The examples of its README compile, one after the other."""
        blocks = [
            t for language, t in fences(PACKAGE / "README.md") if language == "ts"
        ]
        self.assertGreater(len(blocks), 2)
        self.assertEqual(self.compile("\n".join(blocks)), "")


class UnitTests(SynchronousTestCase):
    """Tests for the tests that Node.js runs."""

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
