"""The bundler's output as tokens, whose meaning the corpus has, and its expressions."""

import json
import time

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.javascript.tokens import (
    STRING,
    Code,
    UnreadableError,
    is_regex,
)

from ....npm import run_node


class TokenTests(SynchronousTestCase):
    def test_strings(self) -> None:
        """A string ends at its own quote, which no backslash precedes."""
        for text in ('""', "'\"'", r'"\""', r'"\\"', r'"a\\\"b"', '"//"', '"/*"'):
            code = Code(f"f({text}, a);")
            self.assertEqual(
                list(filter(None, code.texts)), ["f", "(", text, ",", "a", ")", ";"]
            )
            self.assertEqual(code.kinds[2], STRING)

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


BREAKING = (
    *("/(/", "/)/", "/a**/", "/[b-a]/", "/(?<a>.)\\k<b>/", "/a{2,1}/", "/\\/u"),
    *("/(?<1a>.)/", "/a/gg", "/a/x", "/a/uv", "/\\b+/", "/\\u{41}+/", "/*/", "/+a/"),
    *("/]/u", "/{/u", "/\\-/u", "/\\u{110000}/u", "/\\p{Foo}/u", "/[\\d-x]/u"),
    *("/[a&&&b]/v", "/[(]/v", "/[a-z&&b--c]/v", "/[!!]/v", "/}/v", "/[\\a]/v"),
    *("/\\P{RGI_Emoji}/v", "/\\p{RGI_Emoji}/u", "/[\\b-a&&]/v"),
)
FINE = (
    *("/a/", "/[]/", "/[^]/", "/{/", "/]/", "/\\-/", "/a{,2}/", "/\\8/", "/(?=a)*/"),
    *("/\\p{Foo}/", "/\\u{41}/", "/\\c/", "/(?<=a)b(?<!c)/", "/(?<n>a)\\k<n>/dgimsuy"),
    *("/\\p{L}\\P{Script=Greek}/iu", "/\\p{scx=Latn}/v", "/(?<ñ>.)/", "/\\\\b+/"),
    *("/[\\p{L}--[a-z]]/v", "/[\\q{abc|d}&&\\p{RGI_Emoji}]/v", "/[!^#=*?~.]/v"),
    *("/[^\\p{L}\\p{N}_]{2}/giv", "/[\\b-*?~]/v", "/[[a-z]&&[aeiou]]/v", "/[/]\\//"),
    "/[A-\\c\\u{41}]/",
)
NEWER = ("/(?i:a)b/", "/(?-i:a)/", "/(?ims-:a)/", "/(?<a>x)|(?<a>y)/")
"""What Chromium has since version 125, and the Node.js of a distribution may not."""

# What patterns are made of: whatever has a meaning, and halves of it.
PARTS = (
    "a b - ^ $ . | ( ) (?: (?= (?! (?<= (?<! (?<n> [ ] [^ { } {1} {1,} {1,2} {2,1} * +"
    " ? \\d \\D \\w \\b \\B \\k<n> \\k \\1 \\2 \\0 \\01 \\c \\cA \\x41 \\x4 \\u0041"
    " \\u{41} \\u \\u{110000} \\ud83d\\ude00 \\p{L} \\P{Lu} \\p{Script=Greek} \\p"
    " \\p{RGI_Emoji} \\q{a|bc} -- && & \\/ \\. \\- \\a \\( \\] \\& ! # ## @ ~ = : , < >"
    " \\n \\8 é \\\\"
)
PATTERN = st.lists(st.sampled_from(PARTS.split()), min_size=1, max_size=7).map("".join)
LITERAL = st.tuples(
    PATTERN | PATTERN.map("[{}]".format), st.sampled_from(("", "u", "v", "gi", "y"))
).map("/{0[0]}/{0[1]}".format)

_COMPILE = """
const given = JSON.parse(process.argv[1]);
console.log(JSON.stringify(given.map((literal) => {
  const end = literal.lastIndexOf("/");
  try { new RegExp(literal.slice(1, end), literal.slice(end + 1)); return true; }
  catch { return false; }
})));
"""


def compiled(literals: list[str]) -> list[bool]:
    """Which of them Node.js compiles."""
    return json.loads(run_node("-e", _COMPILE, json.dumps(literals)))


class CompilingTests(SynchronousTestCase):
    def test_table(self):
        """Each construct is accepted or refused as by an engine of a browser."""
        self.assertEqual([one for one in FINE if not is_regex(one)], [])
        self.assertEqual([one for one in BREAKING if is_regex(one)], [])
        self.assertEqual([one for one in NEWER if not is_regex(one)], [])
        known = [one for one in (*FINE, *BREAKING) if one != "/\\/u"]
        self.assertEqual(compiled(known), list(map(is_regex, known)))

    @given(st.lists(LITERAL, min_size=50, max_size=100))
    @settings(max_examples=10)
    def test_as_an_engine_does(self, given: list[str]):
        """Whatever Node.js compiles is accepted, and hardly anything else."""
        pairs = zip(given, compiled(given), strict=True)
        wrong = {
            literal
            for literal, is_compiled in pairs
            if is_compiled != is_regex(literal) and (is_compiled or "\\" not in literal)
        }
        self.assertEqual(wrong, set())

    def test_attack_slow_patterns(self):
        """What takes long to compile is not compiled; a line has 1000 characters."""
        begun = time.monotonic()
        for pattern, flags in (
            ("\\p{L}" * 1000, "iu"),
            ("[^\\p{L}\\p{N}]" * 1000, "iv"),
            ("\\p{RGI_Emoji}" * 1000, "v"),
            ("a{65535}" * 1000, ""),
            ("(?:(?:a*)*)*" * 1000, ""),
            ("(?<=" * 200 + ")" * 200, ""),
            ("|a" * 1000, ""),
        ):
            self.assertTrue(is_regex(f"/{pattern}/{flags}"), pattern[:20])
        for pattern in ("(" * 1000, "[" * 1000, "(?:" * 1000 + "a"):
            self.assertFalse(is_regex(f"/{pattern}/v"), pattern[:20])
        self.assertLess(time.monotonic() - begun, 1)
