"""Tests for bridge.protocol.strictjson."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import strictjson
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import (
    FRAME_BYTES,
    JSON_DEPTH,
    JSON_LONG_INTEGERS,
    JSON_VALUES,
    KIB,
)
from bridge.protocol.strictjson import Size, dumps, loads, loads_own, loads_unique

from ..strategies import broken, nested, values

PIECE = 64 * KIB

escaping = st.text(st.sampled_from('\\"a,:[{\ud7ff\n'), max_size=8)
"""Strings that try to look like their own end."""


def stripped(text: bytes) -> bytes:
    """Take the strings out, by a reader of one character at a time."""
    kept, within, escaped = bytearray(), False, False
    for byte in text:
        if escaped:
            escaped = False
        elif byte == ord("\\"):
            escaped = True
        elif byte == ord('"'):
            within = not within
        elif not within:
            kept.append(byte)
    return bytes(kept)


INEXACT = "an integer that cannot be kept exactly"


class StrictCase(SynchronousTestCase):
    """Reads texts."""

    def refused(self, text: bytes) -> str:
        """Return the error that reading ``text`` is refused with."""
        error = self.assertRaises(BridgeError, loads, text)
        self.assertIs(error.code, Code.BAD_REQUEST)
        return str(error.message)


class IntegerTests(StrictCase):
    """Tests for integers that would silently become floats."""

    def test_bounds(self) -> None:
        """What 64 bits hold, signed or not, is read exactly; what else is refused."""
        for number in (2**64 - 1, -(2**63), 2**63, 10**18, -1, 0):
            self.assertEqual(loads(b"%d" % number), number)
            self.assertIs(type(loads(b"[%d]" % number)[0]), int)
        for number in (2**64, -(2**63) - 1, 10**20 + 1, -(10**25), 10**300):
            for shape in (b"%d", b"[%d]", b'{"a": %d }', b"[1,[%d,2]]", b"\n%d\t"):
                self.assertEqual(
                    self.refused(shape % number),
                    INEXACT,
                )

    def test_as_pages_write(self) -> None:
        """A page writes doubles below 1e21 as integers, with the fewest digits."""
        for text, number in (
            (b"100000000000000000000", 1e20),
            (b"-123456789012345680000", -123456789012345680000.0),
            (b"999999999999999900000", 999999999999999900000.0),
        ):
            self.assertEqual(loads(b"[%s]" % text), [number])
        self.refused(b"123456789012345683968")

    def test_floats(self) -> None:
        """A number written as a float is one, however large."""
        for text in (b"1e300", b"18446744073709551616.0", b"18446744073709551616e0"):
            self.assertEqual(loads(b"[%s]" % text), [float(text)])
        self.assertEqual(loads(b"1E-1234567890123456789012"), 0.0)

    def test_digits_in_strings(self) -> None:
        """Digits in a string are text, next to a large float too."""
        digits = "9" * 40
        for value in (
            [1e300, digits],
            {digits: 1e300},
            [1e300, f'\\"{digits}\\', digits],
        ):
            self.assertEqual(loads(dumps(value)), value)

    def test_attack_integer_on_the_edge_of_a_piece(self) -> None:
        """A long text is looked through in pieces; no number falls between two."""
        number = b"9" * 30
        for offset in range(PIECE - 34, PIECE + 4):
            text = b'["%s",%s]' % (b"x" * (offset - 4), number)
            self.assertEqual(self.refused(text), INEXACT)
            self.assertEqual(loads(b'["%s",1e300]' % (b"x" * offset))[1], 1e300)

    def test_attack_many_long_integers(self) -> None:
        """Only so many integers are compared; each takes long."""
        number = b"100000000000000000000"
        most = b",".join([number] * JSON_LONG_INTEGERS)
        self.assertEqual(loads(b"[%s]" % most), [1e20] * JSON_LONG_INTEGERS)
        message = self.refused(b"[%s,%s]" % (most, number))
        self.assertEqual(message, "more than 1024 integers of 20 digits")
        short = b",".join([b"1000000000000000000"] * JSON_VALUES)
        self.assertEqual(len(loads(b"[1e300,%s]" % short[:-20])), JSON_VALUES)

    @given(st.integers(-(10**30), 10**30), values)
    @settings(deadline=None)
    def test_any_integer(self, number: int, neighbour: object) -> None:
        """An integer is read as it is, or refused; never as another."""
        text = json.dumps([neighbour, number], ensure_ascii=False).encode("utf-8")
        if -(2**63) <= number < 2**64:
            self.assertEqual(loads(text)[1], number)
        elif abs(number) < 10**21 and Decimal(repr(float(number))) == number:
            self.assertEqual(loads(text)[1], float(number))
        else:
            self.refused(text)


class ValuesTests(StrictCase):
    """Tests for the number of values."""

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

    def test_strings_are_not_values(self) -> None:
        """A large text of commas and brackets is one value."""
        text = ',:[{"\\' * 50_000
        self.assertEqual(loads(dumps([text])), [text])

    @given(st.recursive(escaping, lambda v: st.lists(v) | st.dictionaries(escaping, v)))
    @settings(deadline=None)
    def test_outside_strings(self, value: object) -> None:
        """What is outside the strings is found, wherever the pieces are cut."""
        text = dumps(value)
        for size in (1, 2, 3, 7, PIECE):
            outside = strictjson._Outside()
            found = b"".join(
                outside.feed(text[start : start + size])
                for start in range(0, len(text), size)
            )
            self.assertEqual(found, stripped(text))

    def test_counted_as_it_comes(self) -> None:
        """A text of which the size is known is not counted again."""
        text = dumps([0] * (JSON_VALUES + 1))
        size = Size.of(text)
        self.assertGreater(size.values, JSON_VALUES)
        self.assertRaises(BridgeError, loads, text, size)
        self.assertEqual(len(loads(text, Size())), JSON_VALUES + 1)


class LoadsTests(SynchronousTestCase):
    """Tests for reading JSON."""

    def refused(self, text: bytes) -> str:
        """Return the error that reading ``text`` is refused with."""
        error = self.assertRaises(BridgeError, loads, text)
        self.assertIs(error.code, Code.BAD_REQUEST)
        return str(error.message)

    def test_not_json(self) -> None:
        """What Python's reader takes or chokes on, but JSON has not, is refused."""
        for text in (
            b"",
            b" ",
            b"NaN",
            b"[Infinity]",
            b"-Infinity",
            b"1e999",
            b"-1e999",
            b'"\\ud800"',
            b'"\\udc00\\ud800"',
            b'"\xed\xa0\x80"',
            b'"\xff"',
            b"\xef\xbb\xbf{}",
            b"{",
            b"[1,]",
            b"{'a': 1}",
            b"01",
            b'"a\nb"',
            b"[" * 60_000,
            b"[" * 2000 + b"]" * 2000,
            b'{"a":' * 2000 + b"1" + b"}" * 2000,
            "{}".encode("utf-16"),
        ):
            self.assertEqual(self.refused(text), "not JSON", text[:20])

    def test_depth(self) -> None:
        """As deep as the limit is read, one level more is refused."""
        loads(nested(JSON_DEPTH))
        self.assertEqual(
            self.refused(nested(JSON_DEPTH + 1)), "JSON nested deeper than 64 levels"
        )

    def test_depth_of_objects(self) -> None:
        """Objects count as lists do, and mixed."""
        for depth, refused in ((JSON_DEPTH // 2, False), (JSON_DEPTH // 2 + 1, True)):
            text = b'[{"a":' * depth + b"1" + b"}]" * depth
            if refused:
                self.refused(text)
            else:
                loads(text)

    def test_wide_is_not_deep(self) -> None:
        """Many brackets side by side, or inside strings, are no depth."""
        self.assertEqual(loads(b"[" + b"[]," * 200 + b"[]]"), [[]] * 201)
        self.assertEqual(loads(b'"' + b"[" * 500 + b'"'), "[" * 500)

    def test_last_duplicate_wins(self) -> None:
        """Of duplicate keys the last is taken."""
        self.assertEqual(loads(b'{"a":1,"a":2}'), {"a": 2})

    @given(values)
    @settings(deadline=None)
    def test_round_trip(self, value: Any) -> None:
        """What is written is read again as it was, and Python reads it alike."""
        self.assertEqual(loads(dumps(value)), value)
        self.assertEqual(json.loads(dumps(value)), value)

    @given(broken)
    @settings(deadline=None)
    def test_anything(self, text: bytes) -> None:
        """Any bytes are read or refused, and what is read can be written again."""
        try:
            value = loads(text)
        except BridgeError:
            return
        self.assertEqual(loads(dumps(value)), value)


class LoadsOwnTests(SynchronousTestCase):
    """Tests for reading JSON of our own."""

    def test_any_number_of_values(self) -> None:
        """It may be as long as it is; what JSON has not, it must not have."""
        many = [0] * (JSON_VALUES + 2)
        self.assertRaises(BridgeError, loads, dumps(many))
        self.assertEqual(loads_own(dumps(many)), many)
        for text in (b"NaN", nested(JSON_DEPTH + 1), b"1" * 30):
            self.assertRaises(BridgeError, loads_own, text)


class LoadsUniqueTests(SynchronousTestCase):
    """Tests for reading JSON that is signed or kept."""

    def test_duplicate_keys(self) -> None:
        """A key twice is refused at any depth, without naming it."""
        for text in (b'{"a":1,"a":1}', b'[{"b":{"a":1,"\\u0061":2}}]'):
            error = self.assertRaises(BridgeError, loads_unique, text)
            self.assertEqual(error.message, "an object has a key twice")

    def test_as_strict_as_loads(self) -> None:
        """Everything else is refused as ``loads`` refuses it."""
        for text in (b"NaN", b"{", nested(JSON_DEPTH + 1)):
            self.assertRaises(BridgeError, loads_unique, text)

    @given(values)
    @settings(deadline=None)
    def test_reads_what_loads_reads(self, value: Any) -> None:
        """Without duplicates both read the same."""
        self.assertEqual(loads_unique(dumps(value)), value)
