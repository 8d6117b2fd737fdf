import json
import time

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.tree import jsontext
from bridge.protocol.errors import BridgeError
from bridge.protocol.limits import MANIFEST_BYTES
from bridge.protocol.strictjson import loads_unique

FIELDS = ("id", "name", "version", "apiVersion", "permissions", "optionalPermissions")


class SyntaxTests(SynchronousTestCase):
    def test_place(self) -> None:
        """Whatever the strict reader refuses has its line, its column and its rule."""
        twice, half = "an object has this key twice", "not JSON: half of a surrogate"
        number = "not JSON: not a number, or one too large"
        deep = "JSON nested deeper than 64 levels"
        for content, refusal in (
            (b"{}x", "1:3 not JSON: Extra data"),
            (b'{"a":' * 100, "1:501 not JSON: Expecting value"),
            (b'{\n  "a": 1\n  "b": 2\n}', "3:3 not JSON: Expecting ',' delimiter"),
            ('{"é": "x'.encode(), "1:7 not JSON: Unterminated string starting"),
            (b'\xef\xbb\xbf{"a": 1}', "1:1 not JSON: Unexpected UTF-8 BOM"),
            (b'{\n"\xc3\xa9\xff"}', "2:3 not UTF-8"),
            (
                b'{"a": {"a": 1},\n "b": {"a": "c", "b": 1},\n "\\u0061": 2}',
                f"3:2 {twice}",
            ),
            (b'[{"a": 1}, {"a": 1, "b": [],\n"a": 2}]', f"2:1 {twice}"),
            (b'{"a": [true, false, null, -1.5e3,\nNaN]}', f"2:1 {number}"),
            (b'["NaN", -Infinity]', f"1:9 {number}"),
            (b'{"a": ' + b"1" * 5000 + b"}", f"1:7 {number}"),
            (b'["\\ud83d\\ude00", "\\ude00"]', f"1:18 {half}"),
            (b'["\\ud800"]', f"1:2 {half}"),
            (b"[" * 64 + b"\n[" + b"]" * 65, f"2:1 {deep}"),
            (b"[" * MANIFEST_BYTES, f"1:65 {deep}"),
        ):
            with self.assertRaises(BridgeError, msg=content):
                loads_unique(content)
            found = jsontext.syntax_refusal("a.json", content, "a rule")
            self.assertTrue(found.startswith(f"a.json:{refusal}"), found)


class FieldTests(SynchronousTestCase):
    def test_place(self) -> None:
        """A field is found by its name, and no string or inner field that has it."""
        text = b'{"a": ["b", "\\"b\\": 1", {"b": 1}],\n  "b": 2}'
        self.assertEqual(jsontext.key_place(text, "b"), (2, 3))
        self.assertEqual(jsontext.key_place(text, "a"), (1, 2))
        self.assertIsNone(jsontext.key_place(text, "c"))
        self.assertEqual(jsontext.key_place(b'\xef\xbb\xbf{"\\u0061": 1}', "a"), (1, 2))
        for text in (b'[{"b": 1}]', b"}", b'{"\\x": 1, "b": 2}', b'{a: 1, "a"', b"{:"):
            self.assertIsNone(jsontext.key_place(text, "b"))

    def test_replaced_string(self) -> None:
        """The value of a field is replaced; the rest stays as it was written."""
        for before, after in (
            ('{"a": "1"}', '{"a": "2\\"é"}'),
            (
                '{ "b" : ["a", "1"],\r\n\t"a"\n:"\\"" , "c": 0}',
                '{ "b" : ["a", "1"],\r\n\t"a"\n:"2\\"é" , "c": 0}',
            ),
            (
                '\ufeff{"x": "\\"a\\": \\"1\\"", "a": "é"}',
                '\ufeff{"x": "\\"a\\": \\"1\\"", "a": "2\\"é"}',
            ),
        ):
            replaced = jsontext.replace_string(before.encode(), "a", '2"é')
            self.assertEqual(replaced.decode(), after)
        for text in ('{"a": 1}', '{"b": "1"}'):
            self.assertRaises(
                ValueError, jsontext.replace_string, text.encode(), "a", "2"
            )

    def refused(self, **fields: object) -> str:
        """The refusal of fields that are not known."""
        text = json.dumps(fields, indent=1).encode()
        return jsontext.unknown_field("plugin.json", text, fields, FIELDS)

    def test_attack_echo(self) -> None:
        """A field that is like none of ours is not repeated."""
        self.assertEqual(
            self.refused(Zq9=1, Qx7=3, id=2),
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
