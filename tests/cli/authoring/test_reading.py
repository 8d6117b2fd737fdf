"""What the bundler finds in a plugin's sources."""

from __future__ import annotations

from pathlib import Path

from twisted.internet import reactor
from twisted.internet.defer import maybeDeferred
from twisted.trial.unittest import TestCase

import bridge
from bridge.cli.authoring.reading import Reading, read_sources
from bridge.plugins.tree.tree import Tree
from bridge.settings.options import Paths
from bridge.wiring import oneshot

from ...directories import fresh_directory
from ...plugins.bundle.workshop import Workshop

CERTAIN = r"""
export default definePlugin({ id: 'demo', activate() {} });
export default { activate(ctx) { ctx.id; }, "id": "demo" }
export default {id: "demo" as const} satisfies Plugin;
const ID = 'demo'; export default definePlugin({ id: ID });
const id: string = "demo"\nexport default definePlugin({ activate, id, });
import m from './plugin.json'; export default { id: m.id, activate() {} };
import m from "./plugin.json" with { type: "json" }; export default { id: m.id };
const p = definePlugin({ id: 'demo' }); export default p;
const p = definePlugin({ id: 'demo' }); export { p as default };
const p: Plugin = { id: 'demo', a: { id: 'other' } };\nexport default p
/* export default { id: 'other' } */ export default { // id: 'other',\n id: 'demo' };
const t = `${`}`} export default { id: 'x' }`; export default { id: 'demo' };
const r = /['"`{]/g; const n = a / b / c; export default { id: 'demo' };
const p = { id: 'demo' }; export default definePlugin(p);
export default definePlugin({ id: `de` + 'm\x6f' });
""".strip().splitlines()

DOUBTFUL = r"""
export default definePlugin({ ...base, id: 'other' });
export default definePlugin({ [name]: 'other', id: 'other' });
export default definePlugin({ id: 'other', id: 'more' });
export default definePlugin({ id: name() });
export default definePlugin({ id: a.b });
export default definePlugin({ get id() { return 'other'; } });
export default wrap({ id: 'other' });
export default class { id = 'other'; }
export default new Plugin({ id: 'other' });
export { plugin as default } from "./plugin";
const id = 'other' + x; export default { id };
const a = 1; export default { id: a.id };
import m from './other.json'; export default { id: m.id };
const p = q; const q = r; const r = { id: 'other' }; export default p;
export default { a: 1 };
""".strip().splitlines()


class ReadingTests(TestCase):
    """Reading sources."""

    def setUp(self) -> None:
        """A data directory with a bundler."""
        shop = Workshop(fresh_directory(self)).fill()
        place = Paths(shop.profile, shop.data, shop.theme_dir)
        builder = oneshot.make_builder(reactor, place, maybeDeferred)
        self.executable = builder.executable

    async def read(self, main: str, **more: str) -> Reading:
        """Read a plugin."""
        files = {"main.ts": main, **more}
        tree = Tree({name: text.encode() for name, text in files.items()})
        return await read_sources(reactor, self.executable, tree)

    async def test_id(self) -> None:
        """Plain forms have a certain id; what may mean something else has none."""
        for lines, found in ((CERTAIN, "demo"), (DOUBTFUL, None)):
            for line in lines:
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
        """
        part = "export const f = (alert) => alert;\ndocument.append(<b/>);"
        tests = {"tests/a.ts": "document.x;", "a.test.ts": "document.x;"}
        reading = await self.read(text, **tests, **{"lib/b.tsx": part})
        self.assertEqual(
            reading.page_names, ["lib/b.tsx:2 document", "main.ts:4 document"]
        )

    async def test_broken(self) -> None:
        """What does not compile has the bundler's own sentence."""
        reading = await self.read("\nlet = ;", **{"a.ts": "document.title;"})
        self.assertEqual(reading.broken, {("main.ts", 2): 'Unexpected ";"'})
        self.assertEqual(reading.page_names, ["a.ts:1 document"])
        self.assertIsNone(reading.entry)

    async def test_samples(self) -> None:
        """The plugins that come with us have their ids."""
        root = Path(bridge.__file__).parent / "reference"
        for folder, plugin_id in (
            ("sample-plugin", "hello-bridge"),
            ("template", "my-plugin"),
        ):
            reading = await self.read((root / folder / "main.ts").read_text("utf-8"))
            self.assertEqual(reading.exported_id(""), plugin_id)
