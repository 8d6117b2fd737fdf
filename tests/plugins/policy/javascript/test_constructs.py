"""What the bundler's output of a source breaks."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.javascript.constructs import output_hits
from bridge.plugins.policy.reading import Answer, Source

from ..scanning import MARK, scan_source

TAG = "createElement of a code-loading tag"
TIMEOUT = "setTimeout with a string"
INNER = "innerHTML assignment"
IMPORT = "import outside the plugin"
MAP = '{"mappings": "AAAA"}'
SOURCE = Source.of("a.ts", b"")


class OutputCase(SynchronousTestCase):
    """Sources one by one."""

    def rules(self, code: str, name: str = "src/a.ts") -> list[str]:
        """The rules a source breaks."""
        return [hit.rule for hit in scan_source(name, code.encode())]

    def check(self, *cases: tuple[str, str]) -> None:
        """Check that each source breaks its rule and no other."""
        for code, rule in cases:
            self.assertEqual(self.rules(code), [rule], code)

    def accept(self, *codes: str) -> None:
        """Check that sources break no rule."""
        for code in codes:
            self.assertEqual(self.rules(code), [], code)


class CallTests(OutputCase):
    """Refused arguments."""

    def test_attack_borrowed_callees(self) -> None:
        """A refused argument is found through borrowed and computed callees."""
        self.check(
            ("a['createElement']('script')", TAG),
            ("a.createElement?.bind(a, 'embed')", TAG),
            ("createElement.apply(a, ['frame'])", TAG),
            ("createElement(...['frame'])", TAG),
            ("createElement((f(), 'frame'))", TAG),
            ("createElement(a || ' FRAME ')", TAG),
            ("createElement(['svg:script'])", TAG),
            ("document.createElementNS?.call?.(a, ns, 'script')", TAG),
            ("setTimeout.apply(null, ['x()'])", TIMEOUT),
            ("setTimeout.bind(null, 'x()')()", TIMEOUT),
            ("a.b.setInterval(`x`)", "setInterval with a string"),
            ("a.setAttributeNS(null, 'SRCDOC', x)", "srcdoc"),
            ("a.setAttribute.call(b, 'srcdoc', x)", "srcdoc"),
            ("Reflect.set(a, `innerHTML`, x)", INNER),
            ("Object.assign(a, b, { ['outerHTML']: x })", "outerHTML assignment"),
            ("Object.assign(a, { innerHTML })", INNER),
            ("Object.assign.call(null, a, { innerHTML() {} })", INNER),
            ("(0, Object.assign)(a, { innerHTML: b })", INNER),
            ("Object['defineProperty'](a, 'innerHTML', b)", INNER),
        )

    def test_attack_calls_in_calls(self) -> None:
        """What stands in an inner call, or after it, is found with the outer one."""
        for code in (
            "Object.a(Object.keys(b), 'innerHTML')",
            "Object.a(Object.b(c, 'innerHTML'), d)",
            "Object.a(b); Object.c(d, 'innerHTML')",
            "Object.a(Reflect.b(c), 'innerHTML')",
            "Object.a(b); Reflect.set(c, 'innerHTML', d)",
            "const R = Reflect; Object.a(b); R.set(c, 'innerHTML', d)",
        ):
            self.assertEqual(self.rules(code), [INNER], code)

    def test_attack_first_arguments_of_timers(self) -> None:
        """No first argument that a string is made of passes for a function."""
        self.check(
            ("setTimeout(async + 'x()')", TIMEOUT),
            ("setTimeout(function a() {} + ';x()')", TIMEOUT),
            ("setTimeout(async function a() {} + ';x()')", TIMEOUT),
            ("setTimeout(function* a() {} + ';x()')", TIMEOUT),
            ("setTimeout((() => 1) + ';x()')", TIMEOUT),
            ("setTimeout(class a {} + ';x()')", TIMEOUT),
            ("a.contentWindow.setTimeout?.('x()')", TIMEOUT),
            ("a.contentWindow.setTimeout.call(null, 'x()')", TIMEOUT),
            ("a.contentWindow.setTimeout`x()`", TIMEOUT),
            ("const s = setTimeout; s('x()')", TIMEOUT),
        )

    def test_honest(self) -> None:
        """Other arguments of these calls, and other calls, are accepted."""
        self.accept(
            "createElement('div', 'a b')",
            "createElement(tag)",
            "createElement()",
            "createElement.apply(a, b)",
            "createElement.apply(a)",
            "setTimeout(f, 1, 'x')",
            "setTimeout()",
            "setTimeout(1 + 2)",
            "setTimeout(a === 'b' ? c : d)",
            "setTimeout((a = 'b') => c(a), 10)",
            "setTimeout(async (a = 'b') => c(a), 10)",
            "setTimeout(function (a = 'b') { c('d') }, 10)",
            "setTimeout(function* (a = 'b') { c('d') }, 10)",
            "setTimeout(f('a'), 10)",
            "a.setTimeout?.(f, 10, 'x')",
            "a.setAttribute('src', x)",
            "Reflect.has(a, 'b')",
            "Object.keys({ a: 1, ...b, [c]: d, e() {} })",
            "Object; Reflect; x = [Object, Reflect]",
            "x = Object.prototype; y = x('innerHTML')",
            "f()()('script')",
            "a[b]('script')",
            "(() => 1)('innerHTML')",
            "(() => 1).call(null, 'script')",
        )


class ImportTests(OutputCase):
    """What a source imports."""

    def test_attack_names_that_are_strings(self) -> None:
        """Names in strings do not hide the specifier."""
        self.check(
            ("import { '}' as x } from '../../x'; x()", IMPORT),
            ("import { 'a from \"' as x } from '../../x'; x()", IMPORT),
            ("export { '{' as '}' } from '../../x'", IMPORT),
            ("export * as 'x' from '../../x'", IMPORT),
            ("export * as 'x from' from '../../x'", IMPORT),
            ("import x, { '} from' as y } from '../../x'; y(x)", IMPORT),
            ("import { \"it's\" as x, y } from '../../x'; x(y)", IMPORT),
        )

    def test_attack_forms(self) -> None:
        """Every form of import names a specifier."""
        self.check(
            ("import defer * as x from '../../x'; x.y", IMPORT),
            ("import source x from '../../x'; x.y", IMPORT),
            ("import from from '../../x'; from()", IMPORT),
            ("export { default as from } from '../../x'", IMPORT),
            ("import x, * as y from '../../x'; x(y)", IMPORT),
            ("import x from '../../x' with { type: 'json' }; x()", IMPORT),
            ("import {} from '../../x'", IMPORT),
        )

    def test_attack_phases(self) -> None:
        """An import in a phase of its own is a dynamic import, too."""
        for phase in ("import", "import.source", "import.defer"):
            self.assertEqual(self.rules(f"x = {phase}('./x')"), ["dynamic import"])
            rules = self.rules(f"x = {phase}(a ? './b' : '/x')")
            self.assertEqual(rules, [IMPORT, "dynamic import"])

    def test_attack_long_exports(self) -> None:
        """A long statement that begins like an import takes no time."""
        for code in (
            "export default " + "a + " * 250_000 + "a;\n",
            "export default a + {" + "a, " * 250_000 + "};\n",
            "export default [" + "a,\n" * 250_000 + "];\n",
            "export default {" + "'a'," * 250_000 + "\n",
        ):
            self.assertEqual(output_hits(SOURCE, Answer(code, MAP), [], MARK), [])

    def test_honest(self) -> None:
        """Strings of other statements are no specifiers."""
        self.accept(
            "export default '/etc'",
            "export const a = '/etc'",
            "export default { from: '/etc' }",
            "export default from + '/etc'",
            "export default [from, '/etc']",
            "x = import.meta.url",
            "a.import('/x')",
        )


class MemberTests(OutputCase):
    """Members of any object."""

    def test_attack_members_of_numbers(self) -> None:
        """A number hides no member after it."""
        for number in ("1.5", "10n", "0xffn", "10.", "1e21", "1_0.5e-7", ".5", "5 "):
            rules = self.rules(f"x = {number}.constructor.constructor('y')")
            self.assertEqual(set(rules), {"constructor"}, number)

    def test_attack_document_of_a_member(self) -> None:
        """The location of a document is refused through optional chains."""
        for code in (
            "x.document?.location",
            "x?.document?.location.a",
            "x['document']?.['location']",
            "x.y().document.location",
        ):
            self.check((f"z = {code}", "document.location"))

    def test_attack_computed_names(self) -> None:
        """Constant names are found among other values."""
        self.check(
            ("x = a[f(), 'constructor']", "constructor"),
            ("x = a?.[b ? 'c' : 'constructor']", "constructor"),
            ("a[f(), 'innerHTML'] = h", INNER),
            ("const { [a ? 'constructor' : 'b']: C } = f", "constructor"),
            ("const { [(g(), 'constructor')]: C } = f", "constructor"),
            ("x = { [a ? 'srcdoc' : 'b']: h }", "srcdoc"),
            ("enum K { a = 'constructor' } x[K.a]", "constructor"),
        )

    def test_attack_patterns(self) -> None:
        """Keys of patterns are members wherever a pattern can stand."""
        for code in (
            "export function f([{ constructor: C }]) {}",
            "export function f(a, { constructor: C } = {}) {}",
            "export function f(...[{ constructor: C }]) {}",
            "export class A { set x({ constructor: C }) {} }",
            "export class A { constructor({ constructor: C }) {} }",
            "x = { set x({ constructor: C }) { y(C) } }",
            "x = async ({ constructor: C }) => C()",
            "x = async function* ({ constructor: C }) { C() }",
            "try { a() } catch ({ constructor: C }) { C() }",
            "for (const { constructor: C } of x) C()",
            "for (const [{ constructor: C }] of x) C()",
            "for (var { length: { constructor: C } } in x) C()",
            "for ({ constructor: C } of x) C()",
            "for await (const { constructor: C } of x) C()",
            "({ a: { b: [{ constructor: x.y }] = 1 } = 2 } = f)",
            "[...{ constructor: x }] = f",
        ):
            self.check((code, "constructor"))

    def test_attack_assignments(self) -> None:
        """Every way to assign to a member is one."""
        for code in (
            "for ([el.innerHTML] of x);",
            "for ({ a: el.innerHTML } of x);",
            "for await (el.innerHTML of x);",
            "for (el.innerHTML in x);",
            "[[el.innerHTML]] = x",
            "[{ a: el.innerHTML = 1 }] = x",
            "({ ...el.innerHTML } = x)",
            "el.innerHTML &&= x",
        ):
            self.check((code, INNER))

    def test_honest(self) -> None:
        """Keys of objects and of classes are no members, nor are values read."""
        self.accept(
            "x = { constructor: 1, a: { constructor() {} } }",
            "x = [{ constructor: 1 }]",
            "f({ constructor: 1 })",
            "class A { constructor(a = { constructor: 1 }) { f(a) } }",
            "x = a.innerHTML",
            "x = [a.innerHTML]",
            "x = { a: a.innerHTML }",
            "if (a.innerHTML in b) c()",
            "for (const a of [b.innerHTML]) c()",
            "if (a) { f(); g() }\n['constructor'].forEach(h)",
            "class A { get ['constructors']() { return 1 } }",
            "x = { [a]: 1, [b + 'c']: 2 }",
        )


class HitTests(OutputCase):
    """What is reported of an answer."""

    def test_error(self) -> None:
        """What does not compile is a syntax error, on its line."""
        hits = output_hits(SOURCE, Answer("", "", 7), [], MARK)
        self.assertEqual(hits, [(7, "syntax error")])

    def test_unreadable(self) -> None:
        """What cannot be read is refused."""
        for code in (f'{MARK}eval("', f"({MARK}eval", f"{MARK}eval(" + "[" * 999):
            hits = output_hits(SOURCE, Answer(code, MAP), [], MARK)
            self.assertEqual(hits, [(1, "too complex to check")])

    def test_attack_many_hits(self) -> None:
        """Very many hits are not all kept."""
        code = "a.constructor, " * 1_500
        hits = output_hits(SOURCE, Answer(code, MAP), [], MARK)
        self.assertEqual(hits, [(1, "constructor")])

    def test_tooling_first(self) -> None:
        """Mentions of exempt files come first, the others by line and rule."""
        code = "f(opener, eval)\nx = a.constructor\ny = '../eslint.config.js'\n"
        self.assertEqual(
            [hit.report for hit in scan_source("a.ts", code.encode())],
            [
                "a.ts:3 references a tooling config",
                "a.ts:1 eval",
                "a.ts:1 opener",
                "a.ts:2 constructor",
            ],
        )
