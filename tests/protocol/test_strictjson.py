import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import strictjson
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import FRAME_BYTES, JSON_DEPTH, JSON_VALUES
from bridge.protocol.strictjson import Size, dumps, loads, loads_own, loads_unique

from ..strategies import broken, nested, values

PIECE = strictjson._PIECE_BYTES
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')

escaping = st.text(st.sampled_from('\\"a,:[{\ud7ff\n'), max_size=8)
"""Strings that try to look like their own end."""


class StrictCase(SynchronousTestCase):
    def refused(self, text: bytes) -> str:
        """Return the error that reading ``text`` is refused with."""
        error = self.assertRaises(BridgeError, loads, text)
        self.assertIs(error.code, Code.BAD_REQUEST)
        return str(error.message)


class NumberTests(StrictCase):
    def test_floats(self) -> None:
        """A number written as a float is one, however large."""
        for text in (b"1e300", b"18446744073709551616.0", b"18446744073709551616e0"):
            self.assertEqual(loads(b"[%s]" % text), [float(text)])
        self.assertEqual(loads(b"1E-1234567890123456789012"), 0.0)


class ValuesTests(StrictCase):
    def test_bound(self) -> None:
        """So many values are read, one more is refused."""
        loads(dumps([0] * JSON_VALUES))
        self.assertEqual(
            self.refused(dumps([0] * (JSON_VALUES + 1))),
            "JSON of more than 65536 values",
        )

    def test_attack_millions_of_values(self) -> None:
        """Frames as large as they may be, full of tiny values, are not built."""
        for unit in (b"0,", b"[],", b"{},", b'"",', b'{"":0},', b'"\\\\",'):
            text = b"[" + unit * (FRAME_BYTES // len(unit) - 1) + b"0]"
            self.assertEqual(self.refused(text), "JSON of more than 65536 values")

    @given(st.recursive(escaping, lambda v: st.lists(v) | st.dictionaries(escaping, v)))
    def test_outside_strings(self, value: object) -> None:
        """What is outside the strings is found, wherever the pieces are cut."""
        text = dumps(value)
        for size in (1, 2, 3, 7, PIECE):
            counted = Size()
            found = b"".join(
                counted._outside(text[start : start + size])
                for start in range(0, len(text), size)
            )
            self.assertEqual(found, _STRING.sub(b"", text))

    def test_counted_as_it_comes(self) -> None:
        """A text of which the size is known is not counted again."""
        text = dumps([[]] * (JSON_VALUES + 1))
        size = Size.of(text)
        self.assertGreater(size.values, JSON_VALUES)
        self.assertRaises(BridgeError, loads, text, size)
        self.assertEqual(len(loads(text, Size())), JSON_VALUES + 1)


class LoadsTests(StrictCase):
    def test_depth(self) -> None:
        """As deep as the limit is read, one level more is refused."""
        # More brackets than levels, of both kinds.
        beside = b'[{"a":[]},%s]'
        loads(beside % nested(JSON_DEPTH - 1))
        self.assertEqual(
            self.refused(beside % nested(JSON_DEPTH)),
            "JSON nested deeper than 64 levels",
        )

    def test_wide_is_not_deep(self) -> None:
        """Many brackets side by side, or inside strings, are no depth."""
        self.assertEqual(loads(b"[" + b"[]," * 200 + b"[]]"), [[]] * 201)
        self.assertEqual(loads(b'"' + b"[" * 500 + b'"'), "[" * 500)

    def test_last_duplicate_wins(self) -> None:
        self.assertEqual(loads(b'{"a":1,"a":2}'), {"a": 2})

    @given(broken)
    def test_anything(self, text: bytes) -> None:
        """Any bytes are read or refused, and what is read can be written again."""
        try:
            value = loads(text)
        except BridgeError:
            return
        self.assertEqual(loads(dumps(value)), value)


class LoadsOwnTests(SynchronousTestCase):
    def test_any_number_of_values(self) -> None:
        """It may be as long as it is; what JSON has not, it must not have."""
        many: list[Any] = [[]] * (JSON_VALUES + 2)
        self.assertRaises(BridgeError, loads, dumps(many))
        self.assertEqual(loads_own(dumps(many)), many)
        for text in (b"NaN", nested(JSON_DEPTH + 1), b"1" * 400):
            self.assertRaises(BridgeError, loads_own, text)


class LoadsUniqueTests(SynchronousTestCase):
    def test_duplicate_keys(self) -> None:
        """A key twice is refused at any depth, without naming it."""
        for text in (b'{"a":1,"a":1}', b'[{"b":{"a":1,"\\u0061":2}}]'):
            error = self.assertRaises(BridgeError, loads_unique, text)
            self.assertEqual(error.message, "an object has a key twice")

    @given(values)
    def test_round_trip(self, value: Any) -> None:
        """What is written is read again as it was, by each reader and by Python."""
        for read in (loads, loads_own, loads_unique, json.loads):
            self.assertEqual(read(dumps(value)), value)
