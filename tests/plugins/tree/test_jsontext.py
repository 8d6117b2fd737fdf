"""Tests for bridge.plugins.tree.jsontext."""

from __future__ import annotations

import json
import time

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.tree.jsontext import (
    Fault,
    find_fault,
    key_place,
    replace_string,
    syntax_refusal,
    unknown_field,
)
from bridge.protocol.errors import BridgeError
from bridge.protocol.limits import MANIFEST_BYTES
from bridge.protocol.strictjson import loads_unique

FIELDS = ("id", "name", "version", "apiVersion", "permissions", "optionalPermissions")


class FaultTests(SynchronousTestCase):
    """Where a text is not JSON."""

    def test_syntax(self) -> None:
        """Each fault has its line, its column and its rule."""
        for text, line, column, rule in (
            ('{\n  "a": 1\n  "b": 2\n}', 3, 3, "expected a comma or a closing bracket"),
            ('{"a" 1}', 1, 6, "expected a colon"),
            ("{a: 1}", 1, 2, "expected a name in double quotes"),
            ('{"a": }', 1, 7, "expected a value"),
            ("{} x", 1, 4, "expected the end of the file"),
            ('{"é": "x', 1, 7, "a string without an end"),
            (
                '{"a": "x\ny"}',
                *(1, 9, "a control character or a line break in a string"),
            ),
            ('{"a": "\\x"}', 1, 8, "an unknown escape in a string"),
            ('{"a": 1,\n}', 1, 8, "a comma before a closing bracket"),
            ("[1,\n 2,\n]", 2, 3, "a comma before a closing bracket"),
            ("{'a': 1}", 1, 2, "strings are written in double quotes"),
            ("{ // a\n}", 1, 3, "JSON has no comments"),
            ('{"a": 1 /* one */}', 1, 9, "JSON has no comments"),
            ("", 1, 1, "the end of the file came too early"),
            ('{"a":\n', 2, 1, "the end of the file came too early"),
            ('{"a": NaN}', 1, 7, "NaN and infinite numbers are not JSON"),
            ('["\\ud800"]', 1, 2, "half of a surrogate pair in a string"),
            ('{"a": 1, "b": {},\n "a": 2}', 2, 2, "an object has a key twice"),
            ('{"a": [{"b": 1, "b": 2}]}', 1, 17, "an object has a key twice"),
        ):
            with self.subTest(text=text):
                self.assertEqual(find_fault(text.encode()), Fault(line, column, rule))

    def test_bytes(self) -> None:
        """What is not UTF-8 has a place; a byte order mark is named last."""
        self.assertEqual(find_fault(b'{\n"\xff"}'), Fault(2, 2, "expected UTF-8"))
        bom = b"\xef\xbb\xbf"
        self.assertEqual(find_fault(bom + b"{}"), Fault(1, 1, "a byte order mark"))
        self.assertEqual(find_fault(bom + b"{"), find_fault(b"{"))

    def test_none(self) -> None:
        """What is JSON, or has no place, has no fault."""
        long = b"1" * 5000
        for text in (b"{}", b'{"a": {"a": 1}, "b": "\\ud83d\\ude00"}', long):
            self.assertIsNone(find_fault(text))
        self.assertEqual(
            syntax_refusal("a.json", b"{}", "too deep"), "a.json: too deep"
        )
        self.assertEqual(
            syntax_refusal("a.json", b"{", "not JSON"),
            "a.json:1:2 the end of the file came too early",
        )

    @settings(deadline=None)
    @given(
        st.binary(max_size=60)
        | st.text('{}[]",:\\u1an \n', max_size=40).map(str.encode)
    )
    def test_any_bytes(self, content: bytes) -> None:
        """What the strict reader takes has no fault; any place is in the text."""
        fault = find_fault(content)
        try:
            loads_unique(content)
        except BridgeError:
            lines = content.count(b"\n") + 1
            self.assertTrue(fault is None or 1 <= fault.line <= lines)
        else:
            self.assertIsNone(fault)

    def test_attack_nesting(self) -> None:
        """A text that nests as deep as it can is read, or left, in good time."""
        started = time.process_time()
        for text in (b"[" * MANIFEST_BYTES, b'{"a":' * 10_000):
            find_fault(text)
        self.assertLess(time.process_time() - started, 60)


class FieldTests(SynchronousTestCase):
    """Fields by name."""

    def test_place(self) -> None:
        """A field of the object is found, and none that is deeper."""
        text = b'{"a": {"b": ["b", {"b": 1}]},\n  "b": 2}'
        self.assertEqual(key_place(text, "b"), (2, 3))
        self.assertEqual(key_place(text, "a"), (1, 2))
        self.assertIsNone(key_place(text, "c"))
        self.assertEqual(key_place(b'{"\\u0061": 1}', "a"), (1, 2))
        self.assertIsNone(key_place(b"[]", "a"))
        for text in (b"}", b'"a":', b'{a: 1, "a"', b"{:"):
            self.assertIsNone(key_place(text, "b"))

    def test_replaced_string(self) -> None:
        """The value of a field is replaced; the rest stays as it was written."""
        for before, after in (
            ('{"a": "1"}', '{"a": "2\\"é"}'),
            (
                '{ "b" : {"a": "1"},\r\n\t"a"\n:"\\"" , "c": 0}',
                '{ "b" : {"a": "1"},\r\n\t"a"\n:"2\\"é" , "c": 0}',
            ),
            (
                '\ufeff{"x": "\\"a\\": \\"1\\"", "a": "é"}',
                '\ufeff{"x": "\\"a\\": \\"1\\"", "a": "2\\"é"}',
            ),
        ):
            replaced = replace_string(before.encode(), "a", '2"é')
            self.assertEqual(replaced.decode(), after)
        for text in ('{"a": 1}', '{"b": "1"}', '{"b": {"a": "1"}}'):
            with self.assertRaises(ValueError):
                replace_string(text.encode(), "a", "2")

    def refused(self, **fields: object) -> str:
        """The refusal of fields that are not known."""
        text = json.dumps(fields, indent=1).encode()
        return unknown_field("plugin.json", text, fields, FIELDS)

    def test_misspelt(self) -> None:
        """The nearest field is named, however it was spelt."""
        for name, near in (
            *(("permision", "permissions"), ("Permissions", "permissions")),
            *(("api_version", "apiVersion"), ("apiversion", "apiVersion")),
            *(("optional-permissions", "optionalPermissions"), ("verison", "version")),
        ):
            self.assertEqual(
                self.refused(id="a", **{name: 1}),
                f"plugin.json:3:2 unknown field; did you mean {near}?",
            )

    def test_attack_echo(self) -> None:
        """A field that is like none of ours is not repeated."""
        reported = self.refused(Zq9=1, id=2)
        self.assertEqual(
            reported,
            "plugin.json:2:2 unknown field; the fields are id, name, version, "
            "apiVersion, permissions, optionalPermissions",
        )
        self.assertIn("mean version?", self.refused(Zq9=1, verison=2))

    def test_attack_many(self) -> None:
        """Thousands of unknown fields, and long ones, cost little."""
        started = time.process_time()
        self.refused(**{f"versio{n}": n for n in range(5000)})
        self.refused(**{"version" * 5000: 1})
        self.assertLess(time.process_time() - started, 60)
