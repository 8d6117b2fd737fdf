"""The module that freezes the page, run in Node.js."""

from __future__ import annotations

import json
from typing import Any

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.confinement.prelude import prelude_text
from bridge.plugins.bundle.confinement.scope import shared_names

from ....npm import run_node
from ..workshop import BuildCase

KINDS = "[() => {}, async () => {}, function* () {}, async function* () {}]"
HOST = """\
import { COMPILED_PLUGINS } from "@bridge/static-plugins";
import { definePlugin } from "@bridge/plugin-api";
console.log(JSON.stringify(COMPILED_PLUGINS.map((entry: any) => entry.plugin)));
for (const entry of COMPILED_PLUGINS as any) {
  entry.load?.().then((module) => console.log(JSON.stringify([module.default])));
}
void definePlugin;
"""


class PreludeTests(SynchronousTestCase):
    """The module alone."""

    def after(self, code: str, before: str = "", flag: str = "--no-warnings") -> Any:
        """Return the value of an expression, evaluated after the module."""
        script = f"'use strict'; {before}; {{ {prelude_text()} }}\n"
        shown = f"console.log(JSON.stringify({code}))"
        return json.loads(run_node(flag, "--eval", script + shown))

    def test_names(self) -> None:
        """It knows everything that scopes hand out as the page has it."""
        first = prelude_text().splitlines()[1]
        self.assertTrue(first.startswith('const names = "AggregateError Array '))
        self.assertLessEqual(shared_names(), set(first.split('"')[1].split()))

    def test_attack_functions_of_text(self) -> None:
        """No function's constructor makes another one, by a call or by ``new``."""
        threw = (
            f"{KINDS}.flatMap((kind) => [() => kind.constructor('1'), "
            "() => new kind.constructor('1'), "
            "() => Reflect.construct(kind.constructor, ['1'], Object)]).map((make) => "
            "{ try { return typeof make() } catch (e) { return e.name } })"
        )
        self.assertEqual(self.after(threw), ["TypeError"] * 12)

    def test_kinds_of_functions(self) -> None:
        """Constructors keep their names, and what is an instance of them."""
        kinds = f"{KINDS}.map((f) => [f.constructor.name, f instanceof f.constructor])"
        names = ("Function", "AsyncFunction", "GeneratorFunction")
        self.assertEqual(
            self.after(kinds),
            [[name, True] for name in (*names, "AsyncGeneratorFunction")],
        )

    def test_needs_no_text(self) -> None:
        """It runs where no text may be evaluated."""
        flag = "--disallow-code-generation-from-strings"
        self.assertIs(
            self.after("Object.isFrozen([].values().__proto__)", "", flag), True
        )

    def test_attack_last_match(self) -> None:
        """What somebody else has matched last cannot be read."""
        read = "[/s(.*)/.exec('secret')[1], RegExp.$1, RegExp.input, RegExp['$&']]"
        self.assertEqual(self.after(read), ["ecret", None, None, None])

    def test_attack_changed_prototypes(self) -> None:
        """Nothing of the language can be replaced, added to or given a prototype."""
        changed = (
            "[() => { Array.prototype.push = 1 }, () => { Object.prototype.x = 1 },"
            " () => { delete Promise.prototype.then },"
            " () => { JSON.stringify = 1 }, () => { Error.prepareStackTrace = 1 },"
            " () => { Error.stackTraceLimit = 0 },"
            " () => Object.defineProperty(Map.prototype, 'get', { value: 1 }),"
            " () => Object.setPrototypeOf(Array.prototype, {}),"
            " () => { Object.getPrototypeOf(new Map().keys()).next = 1 },"
            " () => { Reflect.getOwnPropertyDescriptor(Array.prototype, 'push')"
            ".get.a = 1 }].map((change) => "
            "{ try { change(); return 0 } catch (e) { return e.name } })"
        )
        self.assertEqual(self.after(changed), ["TypeError"] * 10)

    def test_assignments(self) -> None:
        """An object may have properties of its own that its prototype has."""
        made = (
            "(() => { const made = {}; made.toString = () => 'own'; "
            "const error = new Error(); error.message = 'own'; "
            "return [String(made), Object.keys(made), error.message, "
            "Object.keys(error)] })()"
        )
        self.assertEqual(self.after(made), ["own", ["toString"], "own", ["message"]])

    def test_attack_assignment_to_what_is_frozen(self) -> None:
        """What adds such a property does not change a frozen object."""
        changed = (
            "(() => { const { set } = Object.getOwnPropertyDescriptor("
            "Object.prototype, 'toString'); const own = Object.freeze({}); "
            "return [own, Array.prototype, 'a', undefined].map((one) => { try { "
            "set.call(one, 1); return 0 } catch (e) { return e.name } }) })()"
        )
        self.assertEqual(self.after(changed), ["TypeError"] * 4)

    def test_older_browsers(self) -> None:
        """A page without parts of the language starts, and has the rest frozen."""
        for missing in (
            "delete globalThis.Iterator; delete globalThis.Intl",
            "delete Intl.Segmenter; delete globalThis.URLSearchParams",
            "delete String.prototype.matchAll; delete globalThis.DOMException",
            "Object.freeze(RegExp); Object.freeze(Object.prototype)",
        ):
            found = self.after("Object.isFrozen(Map.prototype)", missing)
            self.assertIs(found, True, missing)


class BuildTests(BuildCase):
    """Bundles that begin with it."""

    async def frozen(self, lazy: bool, freeze: bool) -> str:
        """Build a plugin that tries to change an array's methods; what it exports."""
        self.shop.profile = evolve(self.shop.profile, lazy_table=lazy, freeze=freeze)
        self.shop.write("host/packages/host/src/index.ts", HOST)
        code = "export default Object.isFrozen(Array.prototype);"
        self.shop.plugin("aa", main__ts=code)
        report = await self.shop.build("aa")
        self.assertEqual(report.errors, [])
        return run_node(self.shop.bundle).splitlines()[-1]

    async def test_before_plugins(self) -> None:
        """It has run before the first plugin is evaluated, whatever the table is."""
        for lazy in (False, True):
            self.assertEqual(await self.frozen(lazy, freeze=True), "[true]")

    async def test_off(self) -> None:
        """Other profiles freeze nothing."""
        self.assertEqual(await self.frozen(lazy=False, freeze=False), "[false]")
        self.assertFalse((self.shop.data.root / "build" / "freeze.js").exists())
