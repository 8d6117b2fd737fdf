"""How sources are read, by which names, and the lines of what is made of them."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy import reading
from bridge.plugins.policy.reading import Lines, words_in

from .scanning import read_source


class WordsTests(SynchronousTestCase):
    def test_attack_words(self) -> None:
        """Words are found wherever they are, and what is between them is not."""
        for text, words in (
            ("", set()),
            ("a.b(...c)?.d", {"a", "b", "c", "d"}),
            ("$ + _ / $_9 - 9a - 12", {"$", "_", "$_9"}),
            ("'in a text' // and a\n comment", {"in", "a", "text", "and", "comment"}),
            ("`a${b}c`", {"a$", "b", "c"}),
            ("<h-b/>", {"h", "b"}),
            ("1..a + 1...b", {"a", "b"}),
            ("é.a ...ü.b ..ö", {"é", "a", "ü", "b", "ö"}),
            # Names in any script.
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


SOURCES = {".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"}
DATA = {".json", ".txt"}


class NameTests(SynchronousTestCase):
    """What a name reveals about a file."""

    def test_kinds(self):
        """A source and a data file have a stem and one of the suffixes."""
        for suffix in SOURCES | DATA:
            for stem in ("a", "a.test", "..a", "src/a", "a b", "a."):
                name = stem + suffix
                self.assertEqual(reading.is_source_name(name), suffix in SOURCES, name)
                self.assertEqual(reading.is_data_name(name), suffix in DATA, name)
        self.assertEqual(
            (set(reading.LOADERS), set(reading.DATA_LOADERS)), (SOURCES, DATA)
        )

    def test_attack_names_of_no_kind(self):
        """None has what has no stem, another suffix, or one in other letters."""
        for suffix in SOURCES | DATA:
            for name in (suffix, f".{suffix}", f"..{suffix}", f"src/{suffix}"):
                self.assertEqual(reading.suffix_of(name), "", name)
        for name in ("a", "a.", "a.TS", "a.Json", "a.css", "a.ts ", "a.js/b", "", "."):
            self.assertFalse(
                reading.is_source_name(name) or reading.is_data_name(name), name
            )


STATEMENTS = [
    "mark{n}();\n",
    "\n",
    "/* a\n\n b */\n",
    "interface A{n} {{\n  b: c;\n}}\n",
    "if (a)\n  mark{n}(\n    'b'\n  );\n",
    "const a{n} = [\n  1,\n  mark{n},\n];\n",
    "function f{n}() {{\n  // a\n  return mark{n}; }}\n",
    "type B{n} = {{ a: 1 }};  mark{n}();\n",
    "x = `\n\n${{mark{n}}}\n`;\n",
]


class LinesTests(SynchronousTestCase):
    @given(st.lists(st.sampled_from(STATEMENTS), max_size=12))
    @settings(max_examples=60)
    def test_every_line(self, statements: list[str]) -> None:
        """Every name is found on the line where it stands in the source."""
        source = "".join(text.format(n=n) for n, text in enumerate(statements))
        answer = read_source("a.ts", source.encode())
        lines = Lines(answer.code, answer.source_map)
        for n in range(len(statements)):
            place = source.find(f"mark{n}")
            if place < 0:
                continue
            line = source.count("\n", 0, place) + 1
            self.assertEqual(lines.line(answer.code.index(f"mark{n}")), line)

    def test_maps(self) -> None:
        """Each line of the output is from the line that its row of the map names."""
        for output, mappings, found in (
            # What the bundler adds comes from the line before it, or the first.
            ("a\nb\nc", ";AAEA", [3, 3, 3]),
            ("a", "", [1]),
            # Numbers have as many digits as they need, and a sign.
            ("a\nb", "AAkgBA,A;AAlgBA", [515, 1]),
            # A map of more rows than there are is read as far as they go.
            ("a", "AACA;AACA", [2]),
        ):
            lines = Lines(output, json.dumps({"mappings": mappings}))
            places = range(0, len(output), 2)
            self.assertEqual([lines.line(n) for n in places], found)
