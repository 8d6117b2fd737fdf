"""The bundler's output as tokens, and their lines; what they mean, the corpus has."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.javascript.tokens import Code, Kind, Lines, UnreadableError

from ..scanning import read_source


class TokenTests(SynchronousTestCase):
    def test_strings(self) -> None:
        """A string ends at its own quote, which no backslash precedes."""
        for text in ('""', "'\"'", r'"\""', r'"\\"', r'"a\\\"b"', '"//"', '"/*"'):
            code = Code(f"f({text}, a);")
            self.assertEqual(code.texts, ["f", "(", text, ",", "a", ")", ";"])
            self.assertIs(code.kinds[2], Kind.STRING)

    def test_attack_unreadable(self) -> None:
        """What the bundler never writes, or nests too deep, is not guessed at."""
        Code("(" * 256 + ")" * 256)
        for text in (
            *('"a', "'a\n'", '"\\"', "/* a", "// a", "(", ")", "(]", "{[}]", "x = /a"),
            *("`a`", "a \u00e9", "a\0b", "x = /\n/", "(" * 257 + ")" * 257),
        ):
            self.assertRaises(UnreadableError, Code, text)


class BracketTests(SynchronousTestCase):
    def test_groups(self) -> None:
        """Brackets group where they neither call nor declare."""
        groups = ("(a);", "x = (a);", "{\n}\n(a);", "return (a);")
        others = ("f(a);", "f()(a);", "if (a) b;", "x = (a) => b;", "switch (a) {\n}")
        scopes = ("x = function(a) {\n};", "try {\n} catch (a) {\n}")
        for text in (*groups, *others, *scopes):
            code = Code(text)
            at = code.texts.index("a")
            self.assertEqual(code.is_group(code.parent[at]), text in groups, text)
        self.assertFalse(Code("a;").is_group(0))


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
