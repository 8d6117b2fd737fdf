"""The scan of whole trees, and of sources made to keep the daemon busy."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.hits import Hit
from bridge.plugins.policy.scan import refuse, scan_source, scan_tree
from bridge.protocol.errors import BridgeError
from bridge.protocol.limits import KIB, MIB, POLICY_HITS, SOURCE_BYTES

from .disguises import ACCEPTED, SNIPPETS
from .hostile import ORDINARY_CALLS, calls_made

EVERYDAY = b"export const f = (a: number) => [a, `b${a}`, { c: a * 2 }];\n"


class TreeTests(SynchronousTestCase):
    """Whole trees on disk."""

    def setUp(self) -> None:
        """Make an empty tree."""
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)

    def write(self, path: str, text: str = "export {}\n") -> None:
        """Put a file into the tree."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def reports(self) -> list[str]:
        """What is reported of the tree."""
        return [hit.report for hit in scan_tree(self.root)]

    def test_honest(self) -> None:
        """A tree as authors publish it is accepted."""
        self.write("main.ts", "import { a } from './src/a'\nexport default a\n")
        self.write("src/a.ts", "export const a = 1\n")
        self.write("src/a.test.ts", "eval(s)\n")
        self.write("eslint.config.mjs", "export default [{ x: localStorage }]\n")
        self.write("vitest.config.ts", "process.env\n")
        self.write("scripts/sign-plugin.mjs", "process.argv\n")
        self.write("README.md", "eval(s) and eslint.config.mjs\n")
        self.write("plugin.json", '{"id": "ab"}')
        self.write("package.json", '{"scripts": {"l": "eslint -c eslint.config.mjs"}}')
        self.assertEqual(self.reports(), [])

    def test_attack_exempt_elsewhere(self) -> None:
        """A file is exempt at its own place only."""
        for path in ("src/eslint.config.mjs", "sign-plugin.mjs", "scripts/x.mjs"):
            self.write(path, "process.exit()\n")
        self.assertEqual(
            self.reports(),
            [
                "scripts/x.mjs:1 process",
                "sign-plugin.mjs:1 process",
                "src/eslint.config.mjs:1 process",
            ],
        )

    def test_attack_exempt_in_json(self) -> None:
        """No JSON file may name an exempt file, before anything else is looked at."""
        self.write("main.ts", "eval(s)\n")
        self.write("data.JSON", '{\n "x": "./ESLINT\\u002econfig.mjs"}')
        self.write("package.json", '{"browser": {"./a": "./sign-plugin.mjs"}}')
        self.assertEqual(
            self.reports(),
            [
                "data.JSON:2 references a tooling config",
                "package.json:1 references a tooling config",
                "main.ts:1 eval",
            ],
        )

    def test_attack_references_out_of_the_plugin(self) -> None:
        """No package.json and no style sheet leads the bundler out of the tree."""
        self.write("package.json", '{"main": "./src/a.js"}')
        self.write("sub/package.json", '{\n"main": "../../state.json"}')
        self.write("sub/a.css", "@import '../style.css';\n@import '../../a.css';\n")
        self.write(".json", '{"main": "../x"}')
        self.assertEqual(
            self.reports(),
            [
                "sub/package.json:2 import outside the plugin",
                "sub/a.css:2 import outside the plugin",
            ],
        )

    def test_attack_symlink(self) -> None:
        """A link is refused under the policy prefix and never followed."""
        self.write("main.ts")
        os.symlink("/etc/passwd", self.root / "a.ts")
        os.symlink("/etc", self.root / "etc")
        hits = scan_tree(self.root)
        self.assertEqual(
            [hit.report for hit in hits], ["a.ts:1 symlink", "etc:1 symlink"]
        )
        with self.assertRaises(BridgeError) as raised:
            refuse(hits)
        self.assertEqual(raised.exception.message, "policy: a.ts:1 symlink")

    def test_too_many_files(self) -> None:
        """More than two hundred sources are refused as a whole; tests don't count."""
        for number in range(200):
            self.write(f"f{number}.ts", "")
            self.write(f"f{number}.test.ts", "")
        self.assertEqual(self.reports(), [])
        self.write("one.more.ts", "eval(s)")
        self.assertEqual(self.reports(), ["more than 200 source files"])

    def test_too_large(self) -> None:
        """More than 2 MiB of sources are refused as a whole, and not read."""
        self.write("a.ts", "eval(s)\n")
        (self.root / "b.ts").write_bytes(b"\n" * SOURCE_BYTES)
        self.assertEqual(
            self.reports(), ["a.ts:1 eval", "more than 2097152 bytes of source"]
        )

    def test_at_most(self) -> None:
        """No more than fifty hits are reported of a tree."""
        for number in range(3):
            self.write(f"{number}.ts", "eval(s)\n" * 40)
        self.assertEqual(len(self.reports()), POLICY_HITS)

    def test_nothing_to_refuse(self) -> None:
        """Without hits nothing is refused."""
        refuse([])

    @given(st.sampled_from(SNIPPETS), st.sampled_from(ACCEPTED))
    @settings(deadline=None, max_examples=25)
    def test_harmless_file(self, snippet: tuple[str, str], honest: str) -> None:
        """Adding a harmless file never changes what is reported of the others."""
        self.write("src/a.tsx" if "<" in snippet[1] else "src/a.ts", snippet[1])
        (self.root / "b.ts").unlink(missing_ok=True)
        before = scan_tree(self.root)
        self.write("b.ts", honest.replace("../", "./"))
        self.assertEqual(scan_tree(self.root), before)


class HostileTests(SynchronousTestCase):
    """Sources made to keep the daemon busy."""

    def scanned(self, content: bytes) -> list[Hit]:
        """Scan a source, and see that it is no more work than others of its size."""
        hits: list[Hit] = []
        made = calls_made(lambda: hits.extend(scan_source("a.ts", content)))
        self.assertLess(made / len(content), 3 * ORDINARY_CALLS)
        return hits

    def test_everyday_text(self) -> None:
        """What the hostile sources are compared with is true of everyday text."""
        content = EVERYDAY * (KIB * 64 // len(EVERYDAY))
        made = calls_made(lambda: scan_source("a.ts", content)) / len(content)
        self.assertTrue(ORDINARY_CALLS / 2 < made < ORDINARY_CALLS, made)

    def test_attack_endless_nesting(self) -> None:
        """Two MiB of brackets, quotes or operators are refused without being walked."""
        for unit in (b"[", b"(", b"{", b"a<", b"`${", b"<a>", b"()=>", b"!", b"a?b:"):
            line = unit * (90 // len(unit)) + b"\n"
            (hit,) = self.scanned(line * (2 * MIB // len(line)))
            self.assertEqual(hit.rule, "too complex to check")

    def test_attack_one_line(self) -> None:
        """One line of two MiB is refused without being parsed."""
        for unit in (b"x", b"\0", b"\xff", b"[", "\u200b".encode()):
            (hit,) = scan_source("a.ts", unit * (2 * MIB // len(unit)))
            self.assertEqual(hit, Hit("a.ts", 1, "minified"))

    def test_attack_deep_expressions(self) -> None:
        """Deep nesting ends in a verdict, never in a recursion error."""
        for code in (
            "(" * 400 + "fetch" + ")" * 400,
            "x" + "[x" * 400 + "]" * 400,
            "a=" * 3000 + "fetch",
            "(" + "a||(" * 400 + "fetch" + ")" * 401 + ".x",
            "`${" * 300 + "fetch" + "}`" * 300,
        ):
            broken = code.replace("=", "=\n").replace("[", "[\n").replace("(", "(\n")
            broken = broken.replace("{", "{\n")
            found = {hit.rule for hit in scan_source("a.ts", broken.encode())}
            self.assertTrue(found & {"fetch", "too complex to check"} or "[x" in code)

    def test_attack_many_breaches(self) -> None:
        """Breach after breach ends as fifty hits, with no more work than others."""
        for unit in (b"\0\n", b"eval(s);\n", b"self.x;\n", b"import '/x';\n"):
            hits = self.scanned(unit * (MIB // 16 // len(unit)))
            self.assertEqual(len(hits), POLICY_HITS)

    def test_attack_aliases(self) -> None:
        """A long chain of names for each other is followed once, not at every use."""
        lines = [f"a{n + 1}=a{n};a{n + 1}.cookie;" for n in range(15_000)]
        code = "a0=document;\n" + "\n".join(lines)
        self.assertEqual(len(self.scanned(code.encode())), POLICY_HITS)

    def test_attack_assignments(self) -> None:
        """Values that go through many names are followed so far, and no further."""
        line = "a=" * 60 + "'x';\n"
        (hit,) = self.scanned((line * (MIB // 2 // len(line))).encode())
        self.assertEqual(hit.rule, "too complex to check")

    def test_other_threads_run(self) -> None:
        """A scan leaves other threads their turns."""
        content = EVERYDAY * (MIB // 8 // len(EVERYDAY))
        scanning = threading.Thread(target=scan_source, args=("a.ts", content))
        turns = 0
        scanning.start()
        while scanning.is_alive():
            time.sleep(0.001)
            turns += 1
        scanning.join()
        self.assertGreater(turns, 5)
