"""The bundler's output as tokens."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.javascript.tokens import Code, Kind, UnreadableError

from ..scanning import read_source
from ..snippets import ACCEPTED, REFUSED

PROGRAMS = [(one.file, one.code) for one in (*ACCEPTED, *REFUSED)]


def kinds(text: str) -> list[tuple[Kind, str]]:
    """Kinds and texts of all tokens but marks."""
    code = Code(text)
    found = list(zip(code.kinds, code.texts, strict=True))
    return [one for one in found if one[0] is not Kind.MARK]


def regexes(text: str) -> list[str]:
    """The regular expressions of a text."""
    return [text for kind, text in kinds(text) if kind is Kind.REGEX]


class SlashTests(SynchronousTestCase):
    """Divisions and regular expressions, in the bundler's own spelling."""

    def printed(self, code: str, name: str = "a.ts") -> str:
        """What the bundler makes of a source."""
        answer = read_source(name, code.encode())
        self.assertEqual(answer.error_line, 0, code)
        return answer.code

    def test_attack_divisions(self) -> None:
        """No division is read as a regular expression, so nothing hides in one."""
        for code in (
            "a / b / c",
            "f(a)(b) / b / c",
            "a[0] / b / c",
            "({}).d / b / c",
            "(function () {}) / b / c",
            "(class {}) / b / c",
            "a++ / b / c",
            "a-- / b / c",
            "a.if(d) / b / c",
            "a.return / b / c",
            "a?.typeof / b / c",
            "a.of / b / c",
            "this / b / c",
            "null / b / c",
            "1 / b / c",
            "1.5 / b / c",
            "10n / b / c",
            "'a' / b / c",
            "`a${d}` / b / c",
            "/d/ / b / c",
            "[d] / b / c",
            "import.meta.d / b / c",
            "async / b / c",
            "of / b / c",
            "get / b / c",
            "type / b / c",
            "a! / b / c",
            "(a as any) / b / c",
            "new A / b / c",
            "new A() / b / c",
            "super_ / b / c",
            "$ / b / c",
            "_ / b / c",
            "\\u0061 / b / c",
            "é / b / c",
        ):
            self.assertNotIn("/ b /", regexes(self.printed(f"x = {code}")), code)
            printed = self.printed(f"function f() {{ g(); h() }}\n(y = {code})")
            self.assertNotIn("/ b /", regexes(printed), code)

    def test_attack_names_after_blocks(self) -> None:
        """A name that begins a statement is no word of a loop's head."""
        for block in ("function f() { g(); h() }", "if (a) { while (1) b(); c() }"):
            printed = self.printed(f"{block}\nof / fetch(u) / g")
            self.assertEqual(regexes(printed), [])
        code = "function f() { return new.target / b / c }"
        self.assertEqual(regexes(self.printed(code)), [])
        code = "class A { #b; c(d) { return d.#b / c / e } static { f(); g() } }"
        self.assertEqual(regexes(self.printed(code)), [])

    def test_attack_quotes_in_regular_expressions(self) -> None:
        """A quote in a regular expression begins no string."""
        for code in (
            'x = /"/',
            'f(/"/, a)',
            'x = [/"/]',
            'x = a && /"/',
            'x = a ? /"/ : b',
            'x = !/"/.test(a)',
            'x = typeof /"/',
            'x = { a: /"/ }',
            'x = () => /"/',
            'x = a => { return /"/ }',
            'if (a) /"/.test(b)',
            'if (a) b(); else /"/.test(b)',
            'while (a) /"/.test(b)',
            'for (;;) /"/.test(b)',
            'for (const a of /"/.b) c(a)',
            'for (const of of /"/.b) c(of)',
            'for (const a in /"/) c(a)',
            'async function f(a) { for await (const b of a) /"/.test(b) }',
            'do /"/.test(a); while (b)',
            'do { b() } while (a)\n/"/.test(b)',
            'switch (a) { case /"/: b(); default: /"/.test(c) }',
            'a: /"/.test(b)',
            'function f() { g(); h() }\n/"/.test(a)',
            'function f() { g(); h() }\n++/"/.lastIndex',
            'if (a) { while (1); }\n--/"/.lastIndex',
            'function* f() { yield /"/ }',
            'x = async () => await /"/.a',
            'x = `a${(b(), /"/)}c`',
            'x = a / /"/',
            'x = a ** /"/',
            'x = a << /"/',
            'x = new /"/.b()',
            'x = void /"/.test(a)',
            'x = delete /"/.b',
            'x = a in /"/',
            'x = a instanceof /"/',
            'x = (a, /"/)',
            'x = [.../"/.b]',
            'export default /"/',
            'class A extends /"/.b {}',
            'class A { b = /"/; static c = /"/; [/"/.d] = 1 }',
            'throw /"/',
        ):
            self.assertIn('/"/', regexes(self.printed(code)), code)

    def test_classes_and_escapes(self) -> None:
        """A slash in a class or after a backslash does not end an expression."""
        for text in (r"/[/]/g", r"/\//u", r"/[\]/]/", r"/[[/]/", r"/<\/script/i"):
            self.assertEqual(regexes(f"x = {text};"), [text])


class TokenTests(SynchronousTestCase):
    """Other tokens."""

    def test_attack_numbers(self) -> None:
        """A number ends where its member begins."""
        for number in (
            "1",
            "1.5",
            "10n",
            "0xfFn",
            "1e21",
            "1e-7",
            "1_0.5",
            ".5",
            "0b1",
        ):
            for text in (f"{number} .a", f"{number}.a" if number != "1" else "1..a"):
                names = [text for kind, text in kinds(text) if kind is Kind.NAME]
                self.assertEqual(names, ["a"], text)

    def test_names(self) -> None:
        """Names can be private, and hold dollars and escapes."""
        for name in ("a", "#a", "$a_1", r"\u00e9", r"a\u{1d7d8}b", "$$"):
            self.assertEqual(kinds(f"x.{name};")[1:], [(Kind.NAME, name)])

    def test_strings(self) -> None:
        """A string ends at its own quote, which no backslash precedes."""
        for text in ('""', "'\"'", r'"\""', r'"\\"', r'"a\\\"b"', '"//"', '"/*"'):
            self.assertEqual(
                kinds(f"f({text}, a);")[1:],
                [
                    (Kind.STRING, text),
                    (Kind.NAME, "a"),
                ],
            )

    def test_comments(self) -> None:
        """Comments are none; what follows them is."""
        self.assertEqual(kinds("f(/* \" */ a, // '\n b);"), kinds("f(a, b);"))
        self.assertEqual(kinds("#!/bin/'\na;"), [(Kind.NAME, "a")])
        self.assertEqual(kinds(""), [])

    def test_attack_unreadable(self) -> None:
        """What the bundler never writes is refused, not guessed at."""
        for text in (
            *('"a', "'a\n'", '"\\"', "/* a", "// a", "(", ")", "(]", "{[}]", "x = /a"),
            *("`a`", "a \u00e9", "a\0b", "x = /\n/"),
        ):
            self.assertRaises(UnreadableError, Code, text)

    def test_attack_nesting(self) -> None:
        """Brackets nest so deep and no deeper."""
        Code("(" * 256 + ")" * 256)
        self.assertRaises(UnreadableError, Code, "(" * 257 + ")" * 257)


class BracketTests(SynchronousTestCase):
    """What brackets are for."""

    def test_pairs(self) -> None:
        """Each bracket knows its partner, each token what it is in."""
        code = Code("f([a], {});")
        self.assertEqual(code.partner[1], 8)
        self.assertEqual(code.partner[8], 1)

        self.assertEqual(code.parent, [-1, -1, 1, 2, 1, 1, 1, 1, -1, -1])

    def test_groups(self) -> None:
        """Brackets group where they neither call nor declare."""
        for text, is_group in (
            ("(a);", True),
            ("x = (a);", True),
            ("{\n}\n(a);", True),
            ("return (a);", True),
            ("f(a);", False),
            ("f()(a);", False),
            ("if (a) b;", False),
            ("for (a of b) c;", False),
            ("x = (a) => b;", False),
            ("x = function(a) {\n};", False),
            ("try {\n} catch (a) {\n}", False),
            ("switch (a) {\n}", False),
        ):
            code = Code(text)
            at = code.texts.index("a")
            self.assertEqual(code.is_group(code.parent[at]), is_group, text)
        self.assertFalse(Code("a;").is_group(0))

    def test_after(self) -> None:
        """What follows a value is found behind the brackets around it."""
        for text in (
            "a.b;",
            "(a).b;",
            "(c || a).b;",
            "(a || c).b;",
            "(c ? a : d).b;",
            "((d, a) ?? e).b;",
            "(c = a).b;",
        ):
            code = Code(text)
            at = code.texts.index("a")
            self.assertEqual(code.text(code.after(at)), ".", text)
        code = Code("f(a).b;")
        self.assertEqual(code.text(code.after(2)), ")")

    def test_outside(self) -> None:
        """There is nothing before the first token, and after the last."""
        code = Code("a")
        for index in (-1, 1):
            self.assertEqual(code.text(index), "")
            self.assertFalse(code.is_kind(index, Kind.NAME))
            self.assertFalse(code.ends_value(index))


class PropertyTests(SynchronousTestCase):
    """What holds of any text."""

    @given(st.text("ab1.\"'/\\*+-()[]{}=;,\n #$", max_size=40))
    @settings(deadline=None)
    def test_places(self, text: str) -> None:
        """Every token's text is at its place, and between them is nothing."""
        try:
            code = Code(text)
        except UnreadableError:
            return
        for start, token in zip(code.starts, code.texts, strict=True):
            self.assertEqual(text[start : start + len(token)], token)
        self.assertEqual(len(code.parent), len(code.kinds))

    @given(st.lists(st.sampled_from(PROGRAMS), min_size=1, max_size=3))
    @settings(deadline=None, max_examples=100)
    def test_what_the_bundler_writes(self, programs: list[tuple[str, str]]) -> None:
        """Whatever the bundler writes can be read."""
        code = "\n;".join(code for _, code in programs)
        for name in ("a.tsx", "a.ts", "a.js"):
            Code(read_source(name, code.encode()).code)
