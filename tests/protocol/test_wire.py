import math
import re
import traceback
import unicodedata
from typing import Annotated, Any

from attrs import field, frozen, make_class
from hypothesis import given
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import wire
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.wire import (
    between,
    converter_of,
    entries,
    string,
    structure,
)

from ..strategies import SECRET, secretive


@frozen
class Place:
    """Something inside something."""

    town: Annotated[str, string(5)]


@frozen
class Note:
    """Something with one field of each kind."""

    title: Annotated[str, string(5)]
    timeout_secs: Annotated[float, between(0, 60)] = 0.0
    sinks: Annotated[list[Annotated[str, string(3)]], entries(2)] | None = None
    by_name: dict[str, dict[str, float]] = field(factory=dict)
    count: int = 0
    loud: bool = False
    places: list[Place] = field(factory=list)
    value: Any = None
    words: list[str] = field(factory=list)


class ConverterTests(SynchronousTestCase):
    def test_makes_what_writes_a_class_once(self) -> None:
        """It takes milliseconds, and cattrs forgets it with each new kind of list."""
        c = converter_of(str)
        first = c.get_unstructure_hook(Place)
        c.unstructure([Place("a")], list[Place])
        self.assertIs(c.get_unstructure_hook(Place), first)

    def test_leaves_out_what_is_absent(self) -> None:
        """That is an optional field without a value; another default is written."""
        written = wire.unstructure(Note("a"))
        self.assertEqual(written, {**written, "count": 0, "byName": {}})
        self.assertFalse({"sinks", "value"} & written.keys())


class StructureTests(SynchronousTestCase):
    def refusal(self, value: Any) -> str:
        """Return the error that reading ``value`` is refused with."""
        error = self.assertRaises(BridgeError, structure, value, Note)
        self.assertIs(error.code, Code.BAD_REQUEST)
        return str(error.message)

    def test_names_the_field_and_the_rule(self) -> None:
        """A refusal names the place and the rule, as the wire spells it."""
        for value, message in (
            ({}, "title: required"),
            ({"title": 1}, "title: must be a string"),
            ({"title": "123456"}, "title: at most 5 characters"),
            ({"title": "a", "timeoutSecs": 61}, "timeoutSecs: 0 to 60"),
            ({"title": "a", "timeoutSecs": math.inf}, "timeoutSecs: 0 to 60"),
            ({"title": "a", "timeoutSecs": True}, "timeoutSecs: must be a number"),
            ({"title": "a", "timeoutSecs": "1"}, "timeoutSecs: must be a number"),
            ({"title": "a", "timeout_secs": 1}, "unknown field"),
            ({"title": "a", "sinks": "abc"}, "sinks: must be a list"),
            ({"title": "a", "sinks": ["abcd"]}, "sinks: at most 3 characters"),
            ({"title": "a", "sinks": ["a"] * 3}, "sinks: at most 2 entries"),
            ({"title": "a", "words": ["a", 1]}, "words: each must be a string"),
            ({"title": "a", "words": "ab"}, "words: must be a list"),
            ({"title": "a", "count": 1.0}, "count: must be an integer"),
            ({"title": "a", "count": True}, "count: must be an integer"),
            ({"title": "a", "loud": 1}, "loud: must be true or false"),
            ({"title": "a", "byName": []}, "byName: must be an object"),
            ({"title": "a", "byName": {"b": 1}}, "byName[]: must be an object"),
            (
                {"title": "a", "byName": {"b": {"c": []}}},
                "byName[][]: must be a number",
            ),
            ({"title": "a", "places": [{}]}, "places.town: required"),
            (
                {"title": "a", "places": [{"town": "a", "x": 1}]},
                "places: unknown field",
            ),
            ({"title": "a", "places": [7]}, "places: must be an object"),
            ([], "must be an object"),
            ("title", "must be an object"),
        ):
            self.assertEqual(self.refusal(value), message, value)

    def test_own_file(self) -> None:
        """Of the user's own file, what is unknown is named: the first of several."""
        given = {"title": "a", "places": [{"town": "a", "y": 1, "x": 1}]}
        error = self.assertRaises(BridgeError, structure, given, Note, own=True)
        self.assertEqual(error.message, "places.x: unknown field")

    @given(secretive)
    def test_never_echoes(self, value: Any) -> None:
        """No refusal repeats a field's name, a mapping's key or a value."""
        for offered in (
            value,
            {"title": value},
            {"title": "a", SECRET: value},
            {"title": "a", "byName": {SECRET: value}},
            {"title": "a", "byName": {"b": value}},
            {"title": "a", "places": [value]},
            {"title": "a", "sinks": value},
        ):
            try:
                structure(offered, Note)
            except BridgeError:
                self.assertNotIn(SECRET, self.refusal(offered))


def defective(bug: type[Exception]) -> wire.Rule:
    """Return a rule with a bug."""

    def violates(value: str) -> bool:
        raise bug

    return wire.Rule("", {}, violates)


class DefectTests(SynchronousTestCase):
    def test_never_the_callers_mistake(self) -> None:
        """Whatever a rule raises comes out as it is, from any depth."""
        for bug in (TypeError, KeyError, ValueError, ZeroDivisionError):
            ruled: Any = Annotated[str, defective(bug)]
            inner: Any = make_class("Inner", {"text": field(type=ruled)})
            outer: Any = make_class("Outer", {"all": field(type=list[inner])})
            for kind, value in (
                (inner, {"text": "a"}),
                (outer, {"all": [{"text": "a"}]}),
            ):
                self.assertRaises(bug, structure, value, kind)

    def test_traceback(self) -> None:
        """It has the frame of the rule that failed."""

        @frozen
        class Kind:
            text: Annotated[str, defective(KeyError)]

        try:
            structure({"text": "a"}, Kind)
        except KeyError as e:
            frames = traceback.extract_tb(e.__traceback__)
        self.assertEqual(frames[-1].name, "violates")


class TextTests(SynchronousTestCase):
    def test_every_control_character(self) -> None:
        """No character is forgotten."""
        rule = wire.string(1, control=False)
        for code in range(0x110000):
            if unicodedata.category(chr(code)) in ("Cc", "Cs"):
                self.assertTrue(rule.violates(chr(code)), hex(code))


class EdgeTests(SynchronousTestCase):
    def test_values(self) -> None:
        """A rule holds at its bounds, and is broken just beyond them."""
        for rule, good, bad in (
            (between(1, 3), (1, 3), (0.9, 3.1)),
            (entries(2, least=1), (["a"], ["a", "a"]), ([], ["a"] * 3)),
            (entries(2, unique=True), ([], ["a", "b"]), (["a", "a"],)),
            (wire.one_of(("a", "b")), ("a", "b"), ("", "c")),
            (string(3, like="a|b"), ("a", "b"), ("ab", "aa")),
            (string(3, control=False, lines=True), ("\t\r\n",), ("\0", "\n\0")),
            (string(3, blank=False), (" a ",), ("", " \n ")),
        ):
            for value in (*good, *bad):
                self.assertEqual(rule.violates(value), value in bad, (rule, value))

    def test_words(self) -> None:
        """A number is written with all its digits, and no more."""
        self.assertEqual(between(120000.0, 1000000).words, "120000 to 1000000")
        self.assertEqual(entries(2, least=1).words, "1 to 2 entries")


class SchemaTests(SynchronousTestCase):
    """What each rule is in JSON Schema; ``tests.schemas`` compares what both accept."""

    def test_numbers_and_lists(self) -> None:
        """Each has the keywords of its bounds."""
        self.assertEqual(wire.between(1, 2).keywords, {"minimum": 1, "maximum": 2})
        self.assertEqual(wire.entries(3).keywords, {"maxItems": 3})
        unique = {"minItems": 1, "maxItems": 3, "uniqueItems": True}
        self.assertEqual(wire.entries(3, unique=True, least=1).keywords, unique)
        self.assertEqual(wire.one_of(("a", "b")).keywords, {"enum": ["a", "b"]})
        self.assertEqual(wire.lenient(str).keywords, {wire.LENIENT: True})
        self.assertFalse(wire.lenient(str).violates(1))
        check = wire.Rule("not 1", {"not": {"const": 1}}, lambda value: value == 1)
        self.assertEqual(check.keywords, {"not": {"const": 1}})
        self.assertEqual((check.words, check.violates(1)), ("not 1", True))
        self.assertIn("ignored", wire.lenient(str).words)

    def test_texts(self) -> None:
        """A text has its lengths, and a pattern for each thing that is required."""
        self.assertEqual(wire.string(5).keywords, {"maxLength": 5})
        like = {"minLength": 1, "maxLength": 5, "pattern": "^(?:[a-z]+)$"}
        self.assertEqual(wire.string(5, like="[a-z]+", least=1).keywords, like)
        strict = wire.string(5, like="a", blank=False).keywords
        self.assertEqual(len(strict["allOf"]), 2)
        pattern = re.compile(
            wire.string(9, control=False, lines=True).keywords["pattern"]
        )
        self.assertTrue(pattern.search("a\nb"))
        self.assertFalse(pattern.search("a\x1bb"))
