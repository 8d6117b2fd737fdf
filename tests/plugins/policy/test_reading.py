"""What the bundler is asked about a source, and answers."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.esbuild.language import LOADERS
from bridge.plugins.policy.reading import Source, words_in
from bridge.plugins.policy.rules.table import GLOBALS

from .scanning import MARK, read_source

_UNKNOWN = re.compile(rf"{re.escape(MARK)}(?!(?:{'|'.join(GLOBALS)}|jsx|fragment)\b)")


class TransformTests(SynchronousTestCase):
    """Answers of the real service."""

    def whole(self, code: str, name: str = "a.ts") -> str:
        """What the bundler makes of a source."""
        found = read_source(name, code.encode())
        self.assertEqual(found.error_line, 0, code)
        return found.code

    def code(self, code: str, name: str = "a.ts") -> str:
        """The same without the marks of names that are no page's."""
        return _UNKNOWN.sub("", self.whole(code, name))

    def test_every_global_is_marked(self) -> None:
        """Each name that matters is marked where nothing declares it."""
        for name in sorted(GLOBALS):
            for code in (f"x = {name}.y", f"x = [{name}]", f"f({{ {name} }})"):
                self.assertIn(f"{MARK}{name}", self.code(code), code)

    def test_declared_names_are_not(self) -> None:
        """Declared names, members, keys, types and texts are none of them."""
        for name in sorted(GLOBALS - {"eval"}):
            for code in (
                f"x.{name}",
                f"x = {{ {name}: 1 }}",
                f"x = (({name}) => {name}.y)",
                f"const {name} = f(); x = {name}",
                f"import {{ {name} }} from './a'; x = {name}",
                f"x = '{name}' // {name}",
            ):
                self.assertNotIn(MARK, self.code(code), code)
        for name in ("Function", "Worker", "window"):
            self.assertNotIn(MARK, self.code(f"let x: {name} | typeof {name}; f(x)"))

    def test_typescript(self) -> None:
        """Types are gone, and what is only TypeScript is JavaScript."""
        for name in ("a.ts", "a.mts", "a.cts", "a.tsx"):
            code = "x = y as any as Z<string>; enum A { b }; let c: D = e!"
            self.assertNotIn(" as ", self.code(code, name))
        for name in ("a.ts", "a.mts", "a.cts"):
            self.assertEqual(self.code("x = <any>y", name), "x = y;\n")

    def test_javascript(self) -> None:
        """Types are an error in JavaScript, elements in what has none."""
        for name in ("a.js", "a.mjs", "a.cjs", "a.jsx"):
            self.assertEqual(read_source(name, b"\nlet x: y").error_line, 2)
        for suffix in LOADERS:
            source = read_source(f"a{suffix}", b"x = <b />")
            self.assertEqual(source.error_line == 0, suffix in (".jsx", ".tsx"))

    def test_elements(self) -> None:
        """Elements are calls of a marked factory."""
        for name in ("a.tsx", "a.jsx"):
            code = self.code("x = <><b c='d'>{e}</b></>", name)
            self.assertIn(f'React.{MARK}jsx("b", {{ c: "d" }}, e)', code)
            self.assertIn(f"React.{MARK}jsx(React.{MARK}fragment", code)

    def test_attack_pragmas(self) -> None:
        """What a comment makes of elements is marked as any other name."""
        for comment in (
            "/* @jsx fetch */",
            "// @jsx fetch.x",
            "/* @jsx a @jsx fetch */",
        ):
            code = self.code(f"{comment}\nx = <b />", "a.tsx")
            self.assertIn(f"{MARK}fetch", code, comment)
        code = self.code("/* @jsx h @jsxFrag eval */ x = <></>", "a.jsx")
        self.assertIn(f"h({MARK}eval", code)

    def test_unknown_names_are_marked(self) -> None:
        """So is every other free name that not every page has."""
        for code in (
            "chrome.x",
            "f(`${chrome}`)",
            "x = { chrome }",
            "for (chrome of [])",
            "[chrome = 1] = x",
            "class A extends chrome {}",
            "@chrome class A {}",
            "export default chrome",
            "chrome`a`",
            "f(...chrome)",
            "x = \\u0063hrome.y",
            "x = \\u{63}hrome.y",
            "enum E { a = chrome.b }",
            "x = chrome satisfies y",
        ):
            self.assertIn(f"{MARK}chrome", self.whole(code + "\n;f(x)"), code)
        self.assertIn(f"{MARK}\\u00FC", self.whole("f(ü)"))
        self.assertIn(f"{MARK}arguments", self.whole("f(arguments)"))
        self.assertIn(f"{MARK}React", self.whole("f(<b />)", "a.jsx"))

    def test_standard_names_are_not(self) -> None:
        """Names of every page, of CommonJS and of the language stay as they are."""
        code = "f(Math, URL, console); module.exports = exports"
        self.assertEqual(self.whole(f"const f = 1\n{code}").count(MARK), 0)
        code = "function f() { return arguments }\nexport { f as default }"
        self.assertEqual(self.whole(code).count(MARK), 0)

    def test_library_of_elements(self) -> None:
        """The factory of elements is the source's own where that declares it."""
        for declared in ("import React from 'a'", "const React = f()"):
            code = self.whole(f"{declared}\nexport const x = <b />", "a.tsx")
            self.assertIn(f" React.{MARK}jsx", code)

    def test_pragma_needs_elements(self) -> None:
        """Only in sources that can have elements comments have this meaning."""
        self.assertTrue(Source.of("a.tsx", b"// @jsx h").has_pragma)
        self.assertTrue(Source.of("b/a.jsx", b"@jsxFrag").has_pragma)
        self.assertFalse(Source.of("a.ts", b"// @jsx h").has_pragma)
        self.assertFalse(Source.of("a.tsx", b"// jsx").has_pragma)

    def test_unused_imports_stay(self) -> None:
        """An import whose names nothing uses is there to be checked."""
        self.assertIn('"./a"', self.code("import { b } from './a'"))
        self.assertIn('"./a"', self.code("import { type B } from './a'"))

    def test_second_reading(self) -> None:
        """What does not compile is not read again, and has its line."""
        self.assertEqual(read_source("a.tsx", b"\n<b").error_line, 2)
        self.assertIn(
            "mappings", json.loads(read_source("a.tsx", b"f(<b />)").source_map)
        )


class WordsTests(SynchronousTestCase):
    """Texts and their words."""

    def test_words(self) -> None:
        """Words are found wherever they are, numbers are none."""
        for text, words in (
            ("", set()),
            ("a.b(...c)?.d", {"a", "b", "c", "d"}),
            ("$ + _ / $_9 - 9a - 12", {"$", "_", "$_9"}),
            ("'in a text' // and a\n comment", {"in", "a", "text", "and", "comment"}),
            ("`a${b}c`", {"a$", "b", "c"}),
            ("<h-b/>", {"h", "b"}),
            ("1..a + 1...b", {"a", "b"}),
            ("é.a ...ü.b ..ö", {"é", "a", "ü", "b", "ö"}),
        ):
            self.assertEqual(words_in(text), words, text)

    def test_attack_letters_of_other_scripts(self) -> None:
        """Names in any script are words, and what is between names is not."""
        for text, words in (
            ("über.größe größe", {"über", "größe"}),
            ("变量=类", {"变量", "类"}),
            ("a\u0301b c\u200dd", {"a\u0301b", "c\u200dd"}),
            ("a\u00a0b\u2028c\ufeffd\u3000e", {"a", "b", "c", "d", "e"}),
            ("\U00020000 \U0001f600 x", {"\U00020000", "x"}),
            ("\u037a\u0e33", {"\u037a\u0e33"}),
            ("\u0301", set()),
        ):
            self.assertEqual(words_in(text), words, text)

    def test_attack_escapes(self) -> None:
        """A name may be written with escapes, in any part and more than one form."""
        for text in (
            r"\u0077indow",
            r"w\u{69}ndow",
            r"windo\u{00000077}",
            r"...\u0077indow",
            "\\u0077indow é",
        ):
            self.assertIn("window", words_in(text), text)
        self.assertLessEqual(words_in(r"a\u{110000}b"), {"a", "b", "u"})

    @given(st.text(max_size=60))
    def test_any_text(self, text: str) -> None:
        """No word is empty or begins with a digit, and each is found by itself."""
        found = words_in(text)
        self.assertFalse([word for word in found if word[:1] in "0123456789"])
        self.assertGreaterEqual(words_in(" ".join(found)), found)
