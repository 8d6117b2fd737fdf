"""The scan of whole trees, and of sources made to keep the daemon busy."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.scan import refuse
from bridge.plugins.tree.tree import is_test_name
from bridge.protocol.errors import BridgeError
from bridge.protocol.limits import POLICY_HITS, SOURCE_BYTES

from .disguises import ACCEPTED, SNIPPETS
from .scanning import loose_hits, scan_tree


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
        return [hit.report for hit in loose_hits(scan_tree(self.root))]

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

    def test_what_no_bundle_can_have(self) -> None:
        """Style sheets, and packages that nothing imports, are not looked at."""
        self.write("docs/site.css", "body { background: url(/img/bg.png) }")
        self.write("docs/old.css", "@import '../../a.css';")
        self.write("tools/package.json", '{"main": "../../index.js",}')
        self.assertEqual(self.reports(), [])

    def test_order(self) -> None:
        """Files come by name, directories where their name stands, whole."""
        for path in ("b.ts", "a/z.ts", "a/b/c.js", "c.mts", "a.tsx", "B.cts", "a.TS"):
            self.write(path, "eval(s)")
        self.assertEqual(
            [report.partition(":")[0] for report in self.reports()],
            ["B.cts", "a/b/c.js", "a/z.ts", "a.tsx", "b.ts", "c.mts"],
        )

    def test_test_names(self) -> None:
        """A test file has test or spec between the first and the last part."""
        for name in ("a.test.ts", "a.Spec.js", "a.test.d.ts", ".test.ts"):
            self.assertTrue(is_test_name(name), name)
        for name in ("test.ts", "latest.ts", "a.tests.ts", "a.test", "spec"):
            self.assertFalse(is_test_name(name), name)

    def test_refuse(self) -> None:
        """A tree is refused for the first hit."""
        self.write("main.ts", "eval(s)")
        with self.assertRaises(BridgeError) as raised:
            refuse(scan_tree(self.root))
        self.assertEqual(raised.exception.message, "policy: main.ts:1 eval")

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
            self.write(f"{number}.ts", "eval(1)\n" * 40)
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
        before = loose_hits(scan_tree(self.root))
        self.write("b.ts", honest.replace("../", "./"))
        self.assertEqual(loose_hits(scan_tree(self.root)), before)
