"""Tests for bridge.settings.tomllines."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.settings.tomllines import TomlLines

FILE = '''\
# a comment = 1
one = 1
"quoted.key" = "x # no comment"  # a comment
dotted . 'key' = [
  "]",  # ]
  "}", \'\'\'
still = 1
\'\'\',
]
text = """
two = 2
[no]
\\""" """
inline = { a = 1, b = "}" }
after = 'c:\\'

[table]
one = 3
[table.sub.deeper] # [x]
x = 1
[[many]]
y = 1
[[many]]
z = 1
'''

LINES = {
    ("one",): 2,
    ("quoted.key",): 3,
    ("dotted",): 4,
    ("dotted", "key"): 4,
    ("text",): 10,
    ("inline",): 14,
    ("after",): 15,
    ("table",): 17,
    ("table", "one"): 18,
    ("table", "sub"): 19,
    ("table", "sub", "deeper"): 19,
    ("table", "sub", "deeper", "x"): 20,
    ("many",): 21,
    ("many", "y"): 22,
    ("many", "z"): 24,
}

KEYS = st.sampled_from(["a", "b-c", '"d e"', "'f#g'", '"h\\"="', "1"])
VALUES = st.sampled_from(
    [
        "1",
        '"["',
        "'#'",
        "[\n1, # ]\n2]",
        '"""\nx = 1\n"""',
        "{ y = [1] }",
        "'''\n[z]'''",
    ]
)
BLANKS = st.sampled_from(["", "\n", "# [c]\n", "\n\t# x = 1\n\n"])
ENTRIES = st.tuples(BLANKS, KEYS, VALUES)


class TomlLinesTests(SynchronousTestCase):
    """Tests for finding lines."""

    def test_every_form(self) -> None:
        """Fields and tables are found, however they are written."""
        tomllib.loads(FILE)
        for text in (FILE, FILE.replace("\n", "\r\n")):
            self.assertEqual(TomlLines.read(text).lines, LINES)

    def test_nearest(self) -> None:
        """What is not listed is where the table around it is."""
        found = TomlLines.read(FILE)
        self.assertEqual(found.of(["inline", "b"]), 14)
        self.assertEqual(found.of(["table", "missing"]), 17)
        self.assertEqual((found.of(["missing"]), found.of([])), (0, 0))
        self.assertEqual(TomlLines.read("").of(["x"]), 0)

    def test_no_toml(self) -> None:
        """What ``tomllib`` would refuse ends it, without an error."""
        self.assertEqual(TomlLines.read("a = 1\n= 2\nb = 3\n").lines, {("a",): 1})
        self.assertEqual(TomlLines.read('a = "\nb = 1\n').of(["a"]), 1)

    @given(
        st.lists(st.tuples(BLANKS, KEYS, VALUES), max_size=6, unique_by=lambda e: e[1])
    )
    @settings(deadline=None)
    def test_any_fields(self, entries: list[tuple[str, str, str]]) -> None:
        """Each field is found on its line, whatever stands before it."""
        text = ""
        wanted: dict[tuple[str, ...], int] = {}
        for blank, key, value in entries:
            text += blank
            (name,) = tomllib.loads(f"{key} = 0")
            wanted[(name,)] = text.count("\n") + 1
            text += f"{key} = {value}\n"
        values: dict[str, Any] = tomllib.loads(text)
        self.assertEqual({(name,) for name in values}, wanted.keys())
        self.assertEqual(TomlLines.read(text).lines, wanted)
