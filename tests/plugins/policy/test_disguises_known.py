"""Disguises that once hid a construct from the scan, each in several spellings."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.rules.table import UNKNOWN

from ...differential.building import Build
from ...differential.constructs import expect
from ...differential.programs import Program
from .everything import every_hit

BLOCKS = (
    "{}",
    "if (a) {}",
    "if (a) b(); else {}",
    "for (; a; ) {}",
    "for (const x of a) {}",
    "while (a) {}",
    "with_: {}",
    "try {} catch {}",
    "try { a() } finally {}",
    "switch (a) {}",
    "function f() {}",
    "async function g() {}",
    "function* h() {}",
    "class A {}",
    "abstract class B {}",
    "namespace N { a() }",
    "namespace N.M {}",
    "enum E {}",
    "interface I {}",
    "declare module 'm' {}",
    "declare global {}",
    "export {}",
    "do {} while (a)",
    "static_: for (;;) {}",
)
"""Statements that end with a block; what comes next begins a statement."""


class Case(SynchronousTestCase):
    """Assertions about sources."""

    def found(self, name: str, code: str) -> set[str]:
        """The rules that a source breaks."""
        hits = every_hit({name: code.encode()}).get(name, ())
        return {rule for _, rule in hits} - {UNKNOWN}

    def assert_found(self, rule: str, codes: Iterable[str], name: str = "a.ts") -> None:
        """Each of the sources breaks the rule."""
        missing = [code for code in codes if rule not in self.found(name, code)]
        self.assertEqual(missing, [])

    def assert_no_way(self, rule: str, codes: Iterable[str], mark: str) -> None:
        """Each of the sources breaks the rule, or nothing of it is in the bundle."""
        with tempfile.TemporaryDirectory() as scratch:
            build = Build(Path(scratch) / "build")
            for code in codes:
                one = Program(".ts", code, code, (expect(rule, mark),), ())
                (bundle,) = build.bundles([one], [False])
                is_live = bundle is not None and one.expected[0].mark.search(bundle)
                self.assertEqual(
                    bool(is_live), rule in self.found("a.ts", code), (code, bundle)
                )


class EscapeTests(Case):
    """Escapes with any number of zeros."""

    ZEROS = ("", "0", "000", "0" * 7, "0" * 60, "0" * 400)

    def test_attack_zeros_in_names(self) -> None:
        """In names that nothing declares."""
        for zeros in self.ZEROS:
            self.assert_found(
                "eval",
                [
                    f"\\u{{{zeros}65}}val('x')",
                    f"(0, ev\\u{{{zeros}61}}l)('x')",
                    f"const f = e\\u{{{zeros}76}}al",
                    f"f({{ ev\\u{{{zeros}61}}l }})",
                    f"eva\\u{{{zeros}6C}}`x`",
                    f"new (\\u{{{zeros}65}}\\u{{{zeros}76}}al as any)('x')",
                ],
            )

    def test_attack_zeros_in_members(self) -> None:
        """In members, after dots, in brackets and in patterns."""
        for zeros in self.ZEROS:
            self.assert_found(
                "constructor",
                [
                    f"f(a.c\\u{{{zeros}6f}}nstructor)",
                    f"f(a?.['c\\u{{{zeros}6f}}nstructor'])",
                    f"f(a[`c\\u{{{zeros}6F}}nstructor`])",
                    f"const {{ c\\u{{{zeros}6f}}nstructor: q }} = a; f(q)",
                    f"const {{ 'c\\u{{{zeros}6f}}nstructor': q }} = a; f(q)",
                    f"(({{ ['c\\u{{{zeros}6f}}nstructor']: q }}) => q)(a)",
                ],
            )

    def test_attack_zeros_in_strings(self) -> None:
        """In strings that are looked into."""
        for zeros in self.ZEROS:
            s = f"\\u{{{zeros}73}}"
            tags = (f"'{s}cript'", f'"{s}cript"', f"`{s}cript`")
            calls = (
                "createElement({})",
                "d?.createElement?.({})",
                "(d as any).createElement({} as any)",
            )
            self.assert_found(
                "createElement of a code-loading tag",
                [call.format(tag) for call in calls for tag in tags],
            )
            self.assert_found(
                "script tag",
                [f"f('<{s}cript>')", f"f(`<{s}cript ${{a}}>`)", f"f('<' + '{s}cript')"],
            )

    def test_attack_zeros_in_specifiers(self) -> None:
        """In the specifiers of imports."""
        for zeros in self.ZEROS:
            dot, slash = f"\\u{{{zeros}2e}}", f"\\u{{{zeros}2F}}"
            self.assert_found(
                "import outside the plugin",
                [
                    f"import '{dot}./x'",
                    f"import x from '..{slash}x'; f(x)",
                    f"export * from './{dot}./../x'",
                    f"export {{ x }} from '{slash}etc/x'",
                    f"import * as x from 'fil\\u{{{zeros}65}}:///x'; f(x)",
                ],
            )
            self.assert_found(
                "imports a test file",
                [f"import './a{dot}test'", f"export * from './a.t\\u{{{zeros}65}}st'"],
            )


class AssertionTests(Case):
    """What looks like a type assertion and is a call."""

    def test_attack_as_after_blocks(self) -> None:
        """A block ends the statement, so that ``as`` is a name."""
        for word in ("as", "satisfies"):
            codes = [f"{block} {word} (eval)" for block in BLOCKS]
            self.assert_no_way("eval", codes, "MARK7_eval")
            # Most of them are statements, and so the call runs.
            live = [code for code in codes if "eval" in self.found("a.ts", code)]
            self.assertGreater(len(live), 10)

    def test_attack_as_after_objects(self) -> None:
        """Where it is an object, what follows is a type; nothing of it runs."""
        for word in ("as", "satisfies"):
            codes = [
                f"({{}} {word} (eval))",
                f"x = {{}} {word} (eval)",
                f"f({{}} {word} (eval))",
                f"function* g() {{ yield {{}} {word} (eval) }}; g()",
                f"export default {{}} {word} (eval)",
                f"(() => ({{}} {word} (eval)))()",
            ]
            self.assert_no_way("eval", codes, "MARK7_eval")

    def test_attack_as_on_the_next_line(self) -> None:
        """A line that ends before ``as`` makes a name of it."""
        for word in ("as", "satisfies"):
            codes = [
                f"a\n{word} (eval)",
                f"a = {{}}\n{word} (eval)",
                f"function* g() {{ yield {{}}\n{word} (eval) }} g()",
                f"type T = {{}}\n{word} (eval)",
                f"let x: {{}}\n{word} (eval)",
                f"a++\n{word} (eval)",
                f"(() => {{ return\n{word} (eval) }})()",
            ]
            self.assert_no_way("eval", codes, "MARK7_eval")
            self.assertTrue(all("eval" in self.found("a.ts", c) for c in codes[:4]))


class TypeArgumentTests(Case):
    """What looks like type arguments and is compared."""

    def test_attack_operators(self) -> None:
        """Operators between the angles make comparisons of them."""
        self.assert_found(
            "eval",
            [
                "new F<a || eval || b>(z)",
                "new F<(a) || (eval) || b>(z)",
                "f<a || eval>(z)",
                "f < (a ?? eval) > (z)",
                "new F<a||eval||b>`z`",
                "new a.F<b && eval && c>(z)",
                "x = f<a || (eval)>(z)",
            ],
        )
        self.assert_found(
            "fetch",
            [
                "f<(a) && (fetch) && b>(z)",
                "f<a && fetch && b>(z)",
                "f<(a) && fetch>(z)",
                "f<a, b && fetch>(z)",
                "f?.(g<a && fetch && b>(z))",
                "f<(a)&&(fetch)&&b>`z`",
                "class A extends f(g<a && fetch && b>(z)) {}",
            ],
        )

    def test_attack_plain(self) -> None:
        """Real type arguments run nowhere, and the rest does."""
        codes = [
            "f<eval>(z)",
            "new F<typeof eval>(z)",
            "f<a>\n(eval)",
            "f<a>(eval)",
            "f<a>eval",
            "f<a> + eval",
            "f<(eval)>(z)",
            "f<a | eval>(z)",
            "f<a & eval>(z)",
            "f<a[eval]>(z)",
            "new F<eval>",
            "a < eval > b",
        ]
        self.assert_no_way("eval", codes, "MARK7_eval")


class ElementTests(Case):
    """Elements of JSX that load code."""

    RULE = "createElement of a code-loading tag"

    def any_found(self, codes: Iterable[str]) -> None:
        """Each is found as an element, or as the script tag that it is."""
        for code in codes:
            found = self.found("a.tsx", code)
            self.assertTrue(found & {self.RULE, "script tag"}, code)

    def test_attack_case(self) -> None:
        """In mixed case."""
        self.any_found(
            [
                "f(<iFrame src={a}/>)",
                "f(<sCRIPT/>)",
                "f(<b><eMbed/></b>)",
                "f(<oBJECT data={a}></oBJECT>)",
                "f(<>{<fRaMe {...a}/>}</>)",
                "f(<iframe/>)",
            ]
        )

    def test_attack_namespace(self) -> None:
        """With a namespace."""
        self.any_found(
            [
                "f(<svg:script href={a}/>)",
                "f(<svg:sCript></svg:sCript>)",
                "f(<a:iframe src='b'/>)",
                "f(<x-y:object/>)",
                "f(<b><svg:embed {...a}/></b>)",
            ]
        )

    def test_attack_entities(self) -> None:
        """With entities in attributes and in text."""
        for code in (
            "f(<b a='&lt;script>'/>)",
            'f(<b a="&#60;script"/>)',
            "f(<b a='&#x3c;script'/>)",
            "f(<b>&lt;script&gt;</b>)",
            "f(<b a='&#0000060;&#115;cript'/>)",
            'f(<b a="&#x03C;s&#99;ript"/>)',
        ):
            self.assertIn("script tag", self.found("a.tsx", code), code)

    def test_attack_srcdoc(self) -> None:
        """As the attribute that holds a document."""
        for code in (
            "f(<b srcdoc='x'/>)",
            "f(<b srcDoc='x'/>)",
            "f(<b {...{ srcdoc: a }}/>)",
            "f(<b srcdoc={a}/>)",
            "f(<b\n srcdoc\n=\n'x'/>)",
        ):
            self.assertIn("srcdoc", self.found("a.tsx", code), code)


class ArgumentTests(Case):
    """Arguments that are spread, and keys that are assigned."""

    def test_attack_spread_tags(self) -> None:
        """The tag of an element in an array."""
        self.assert_found(
            "createElement of a code-loading tag",
            [
                "createElement(...(['script'] as const))",
                "d.createElement(...['script'])",
                "d.createElement(...(<const>['iframe']))",
                "d.createElement(...(['object', {}] satisfies any))",
                "d.createElement(...['em' + 'bed'], a)",
                "d.createElement?.(...([`frame`] as [string]))",
                "d.createElement(...[...['script']])",
            ],
        )

    def test_attack_spread_timers(self) -> None:
        """The text of a timer in an array."""
        for word in ("setTimeout", "setInterval"):
            self.assert_found(
                f"{word} with a string",
                [
                    f"{word}(...(['x', 1] as const))",
                    f"{word}(...['x'])",
                    f"{word}?.(...(['x'] as [string]))",
                    f"{word}(...[`x${{a}}`, 1])",
                    f"(0, {word})(...(<const>['x']))",
                    f"{word}(...['x' + a])",
                ],
            )

    def test_attack_assign(self) -> None:
        """Markup among the members that are assigned at once."""
        for word in ("innerHTML", "outerHTML"):
            self.assert_found(
                f"{word} assignment",
                [
                    f"Object.assign(el, {{ {word}: x }} as any)",
                    f"Object.assign(el, {{ '{word}': x }})",
                    f"Object.assign(el, {{ ['{word}']: x }} satisfies any)",
                    f"Object.assign(el, a, {{ b: 1, {word}: x }})",
                    f"Object['assign'](el, <any>{{ {word}: x }})",
                    f"(Object as any).assign(el, {{ {word} }})",
                ],
            )


class ErasedTests(Case):
    """What is erased is no way through, as it never runs."""

    def test_attack_erased_imports(self) -> None:
        """Imports of types load nothing."""
        codes = [
            "import type { Y } from '../outside'; let y: Y",
            "import type Y from '../outside'; let y: Y",
            "import type * as Y from '../outside'; let y: Y.Z",
            "export type { Y } from '../outside'",
            "export type * from '../outside'",
            "import type Y = require('../outside'); let y: Y",
            "let y: import('../outside').Y",
            "let y: typeof import('../outside')",
        ]
        with tempfile.TemporaryDirectory() as scratch:
            build = Build(Path(scratch) / "build")
            for code in codes:
                one = Program(".ts", code, code, (), ())
                (bundle,) = build.bundles([one], [False])
                self.assertIsNotNone(bundle, code)
                self.assertNotIn("mark7outside", bundle or "", code)
                self.assertEqual(self.found("a.ts", code), set(), code)

    def test_attack_erased_names(self) -> None:
        """Neither do types name anything that runs."""
        codes = [
            "declare const fetch: any",
            "type T = typeof fetch",
            "let x: typeof fetch",
            "interface I { fetch: typeof fetch }",
            "declare function fetch(): void",
            "let x = a as typeof fetch",
            "abstract class A { abstract fetch(x: typeof fetch): void }",
            "declare namespace N { const fetch: any }",
        ]
        self.assert_no_way("fetch", codes, "MARK7_fetch")
        self.assertEqual([c for c in codes if self.found("a.ts", c)], [])
