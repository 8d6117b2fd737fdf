"""What the bundler finds in a plugin's sources, and how a terminal shows it."""

import time
from pathlib import Path

from twisted.internet import reactor
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.cli.authoring.reading import (
    Reading,
    hit_lines,
    quoted,
    read_sources,
    realm_names,
    shown_hit,
    source_line,
)
from bridge.plugins.policy.rules import Hit
from bridge.plugins.tree.tree import Tree

from ...directories import fresh_directory
from ...plugins.bundle.workshop import Workshop

_HERE = Path(__file__).parent


class ReadingTests(TestCase):
    def setUp(self) -> None:
        shop = Workshop(fresh_directory(self)).fill()
        self.executable = shop.builder().executable

    async def read(self, main: str, **more: str) -> Reading:
        files = {"main.ts": main, **more}
        tree = Tree({name: text.encode() for name, text in files.items()})
        return await read_sources(reactor, self.executable, tree)

    async def test_id(self) -> None:
        """Plain forms have a certain id; what may mean something else has none."""
        for file, found in (("certain.txt", "demo"), ("doubtful.txt", None)):
            for line in (_HERE / file).read_text("utf-8").splitlines():
                reading = await self.read(line.replace("\\n", "\n"))
                self.assertEqual(reading.exported_id("demo"), found, line)
                self.assertEqual(reading.fault("demo"), "", line)
        self.assertIsNone(Reading("} no output of the bundler's").exported_id("demo"))

    async def test_fault(self) -> None:
        """Another id, and a module without a default export, can't be started."""
        for text, fault in (
            (
                "export default { id: 'other' };",
                "exports the id other, plugin.json has",
            ),
            ("", "has no default export"),
            ("export const plugin = { id: 'demo' };", "has no default export"),
            ("// export default {}", "has no default export"),
        ):
            self.assertIn(fault, (await self.read(text)).fault("demo"))
        self.assertEqual((await self.read("}")).fault("demo"), "")

    async def test_page_names(self) -> None:
        """Uses of a page's objects are found, and nothing that is only called so."""
        text = """const window = 1;
        // document
        const o = { document: 2, 'alert': 3 }; o.localStorage; typeof document;
        document.title = `${window}`;
        [navigator.userAgent, navigator.language, navigator].map(String);
        navigator?.locks;
        navigator.hasOwnProperty("x") || navigator.toString() || navigator.__proto__;
        """
        part = "export const f = (alert) => alert;\ndocument.append(<b/>, new Image());"
        tests = {"tests/a.ts": "document.x;", "a.test.ts": "document.x;"}
        reading = await self.read(text, **tests, **{"lib/b.tsx": part})
        self.assertEqual(
            reading.page_names,
            [
                *("lib/b.tsx:2 Image", "lib/b.tsx:2 document", "main.ts:4 document"),
                "main.ts:6 navigator?.locks",
            ],
        )

    def test_withheld(self) -> None:
        """What the realm takes from plugins is read whole."""
        withheld, facts = realm_names()
        self.assertEqual((len(withheld), len(facts)), (22, 12))
        self.assertLessEqual({"BroadcastChannel", "fetch", "reportError"}, withheld)
        self.assertLessEqual({"appCodeName", "userAgent"}, facts)


class EntryTests(SynchronousTestCase):
    """Reading what the bundler made of ``main.ts``."""

    def test_attack_slow(self) -> None:
        """A text that is made to be slow is not."""
        before = time.process_time()
        for line in ("export \n", "export {\n", "export { a\n", "export { aaa,\n"):
            reading = Reading(f"var t = `\n{line * 20_000}`;\n")
            self.assertIn("no default export", reading.fault("demo"))
        self.assertLess(time.process_time() - before, 3)


class SourceLineTests(SynchronousTestCase):
    def setUp(self):
        self.root = fresh_directory(self)
        (self.root / "a.ts").write_bytes(b"one\r\n  eval('\x1b')\rthree\n" + b"x" * 500)

    def test_lines(self):
        """Lines are counted as the scan counts them, trimmed and cut, if they exist."""
        (self.root / "link.ts").symlink_to("a.ts")
        for file, number, line in (
            ("a.ts", 1, "one"),
            ("a.ts", 2, "eval('\\x1b')"),
            ("a.ts", 3, "three"),
            ("a.ts", 4, "x" * 117 + "..."),
            ("a.ts", 0, ""),
            ("a.ts", 9, ""),
            ("", 1, ""),
            ("no", 1, ""),
            ("link.ts", 1, ""),
        ):
            self.assertEqual(source_line(self.root, Hit(file, number, "eval")), line)

    def test_unknown_rule(self):
        """A rule that another version's daemon reports is printed without advice."""
        hit = shown_hit(self.root, Hit("no.ts", 2, "new"))
        self.assertEqual(hit_lines(hit), ["  no.ts:2 new"])


class QuotedTests(SynchronousTestCase):
    """The line of a manifest that a refusal is about."""

    def setUp(self):
        self.root = fresh_directory(self)
        text = '{\n  "id": "demo",\n  "version": "\x1b1",\n  "tags": [1]\n}\n'
        (self.root / "plugin.json").write_text(text)
        (self.root / "plugin.sig").write_text("{\n]\n")

    def test_quoted(self):
        """A place, or a field, leads to a line."""
        for message, line in (
            ("manifest_invalid: plugin.json:1:2 expected a value", "plugin.json:1 {"),
            ("unsigned: plugin.sig:2:1 expected a value", "plugin.sig:2 ]"),
            (
                "manifest_invalid: version: must be N.N.N",
                r'plugin.json:3 "version": "\x1b1",',
            ),
            ("manifest_invalid: tags: must be a list", 'plugin.json:4 "tags": [1]'),
            ("invalid_id: an id is short", 'plugin.json:2 "id": "demo",'),
        ):
            self.assertEqual(quoted(self.root, message), [line])

    def test_nothing_to_quote(self):
        """Other refusals, absent fields and files lead to none."""
        for message in (
            "manifest_invalid: name: required",
            "manifest_invalid: plugin.json: must be an object",
            "manifest_invalid: plugin.json:99:1 expected a value",
            "unsigned: there is no plugin.sig at the root",
            "build_failed: main.ts:1:2 no",
        ):
            self.assertEqual(quoted(self.root, message), [], message)
        (self.root / "plugin.json").unlink()
        self.assertEqual(quoted(self.root, "invalid_id: an id is short"), [])
