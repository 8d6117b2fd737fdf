"""The id that a ``main.ts`` exports."""

from __future__ import annotations

import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

import bridge
from bridge.cli.authoring.exported import (
    exported_id,
    lacks_default_export,
    page_names,
)

CERTAIN = r"""
export default definePlugin({ id: 'demo', activate() {} });
export default { activate(ctx) { ctx.id; }, "id": "demo" }
export default {id: "demo" as const} satisfies Plugin;
const ID = 'demo'; export default definePlugin({ id: ID });
const id: string = "demo"\nexport default definePlugin({ activate, id, });
import m from './plugin.json'; export default { id: m.id, activate() {} };
import m from "./plugin.json" with { type: "json" }; export default { id: m.id };
const p = definePlugin({ id: 'demo' }); export default p;
const p: Plugin = { id: 'demo', a: { id: 'other' } };\nexport default p
/* export default { id: 'other' } */ export default { // id: 'other',\n id: 'demo' };
const t = `${`}`} export default { id: 'x' }`; export default { id: 'demo' };
const r = /['"`{]/g; const n = a / b / c; export default { id: 'demo' };
const p = { id: 'demo' }; export default definePlugin(p);
""".strip().splitlines()

DOUBTFUL = r"""
export default definePlugin({ ...base, id: 'other' });
export default definePlugin({ ['i' + 'd']: 'other', id: 'other' });
export default definePlugin({ id: 'other', id: 'more' });
export default definePlugin({ id: 'ot\x68er' });
export default definePlugin({ id: `other` });
export default definePlugin({ id: 'oth' + 'er' });
export default definePlugin({ id: name() });
export default definePlugin({ get id() { return 'other'; } });
export default wrap({ id: 'other' });
export default class { id = 'other'; }
export default new Plugin({ id: 'other' });
export { plugin as default };
let id = 'other'; export default { id };
const id = 'other' + x; export default { id };
const a = 1; export default { id: a.id };
import m from './other.json'; export default { id: m.id };
export default { id: 'other'\n x } export default { id: 'other' };
if (a) {} /b'/; export default { id: 'other' };
const p = q; const q = { id: 'other' }; export default p;
export default { a: 1 };
""".strip().splitlines()


class ExportedTests(SynchronousTestCase):
    """Finding the id."""

    def test_certain(self) -> None:
        """Plain forms have a certain id."""
        for line in CERTAIN:
            with self.subTest(line=line):
                self.assertEqual(exported_id(line.replace("\\n", "\n"), "demo"), "demo")

    def test_doubtful(self) -> None:
        """What may mean something else has none, rather than a wrong one."""
        for line in (*DOUBTFUL, ""):
            with self.subTest(line=line):
                self.assertIsNone(exported_id(line.replace("\\n", "\n"), "demo"))

    def test_no_default_export(self) -> None:
        """A module without any default export is known from one that may have one."""
        for line in (*CERTAIN, *DOUBTFUL, "export { a as 'default' };", "} /"):
            self.assertFalse(lacks_default_export(line.replace("\\n", "\n")), line)
        for text in ("", "export const plugin = { id: 'a' };", "// export default {}"):
            self.assertTrue(lacks_default_export(text), text)

    def test_page_names(self) -> None:
        """Uses of a page's objects are found, and nothing that is only called so."""
        text = """const window = 1;
        // document
        const o = { document: 2, 'alert': 3 }; o.localStorage;
        document.title = `${window}`;
        """
        self.assertEqual(page_names(text), [(4, "document"), (4, "window")])
        self.assertEqual(page_names("document } /"), [])

    def test_samples(self) -> None:
        """The plugins that come with us have theirs."""
        root = Path(bridge.__file__).parent
        for path, plugin_id in (
            (root / "reference/sample-plugin/main.ts", "hello-bridge"),
            (root / "reference/template/main.ts", "my-plugin"),
        ):
            self.assertEqual(exported_id(path.read_text("utf-8"), ""), plugin_id)

    @settings(deadline=None)
    @given(st.text("`${}()[]'\"/\\ \nidexport:,;*.") | st.text())
    def test_any_text(self, text: str) -> None:
        """No text does anything else than have an id or none."""
        found = exported_id(text, "demo")
        self.assertTrue(found is None or found in ("demo", "") or found in text)

    def test_attack_slow(self) -> None:
        """Text that is made to be slow is not."""
        started = time.process_time()
        for text in ("/*" * 50_000, "`" * 100_001, "/[" * 50_000, "{" * 100_000):
            exported_id(text, "demo")
            exported_id("export default " * 3000 + text, "demo")
        # Seconds of the processor, where backtracking would take hours.
        self.assertLess(time.process_time() - started, 60)
