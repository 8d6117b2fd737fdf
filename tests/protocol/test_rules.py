"""Tests for bridge.protocol.rules."""

import math
import re
import unicodedata

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.rules import (
    LENIENT,
    Check,
    Lenient,
    MaxItems,
    OneOf,
    Range,
    Text,
    has_control,
)


class TextTests(SynchronousTestCase):
    """Tests for the rule for strings."""

    def test_bounds(self) -> None:
        """Both bounds belong to what is allowed, and characters count, not bytes."""
        rule = Text(3, least=1)
        for text, broken in (("", True), ("a", False), ("äöü", False), ("abcd", True)):
            self.assertEqual(rule.violates(text), broken)

    def test_pattern_is_whole(self) -> None:
        """The pattern covers all of the string, up to a trailing newline."""
        rule = Text(9, like="[a-z]+")
        for text, broken in (("ab", False), ("ab\n", True), ("ab1", True), ("", True)):
            self.assertEqual(rule.violates(text), broken)

    def test_control_characters(self) -> None:
        """Control characters are refused only where the rule forbids them."""
        for text in ("a\x1b[2J", "a\nb", "\x00", "\x7f", "\x9b"):
            self.assertTrue(has_control(text))
            self.assertTrue(Text(9, control=False).violates(text))
            self.assertFalse(Text(9).violates(text))
        self.assertFalse(Text(9, control=False).violates("a b ä"))

    def test_every_control_character(self) -> None:
        """No character is forgotten."""
        for code in range(0x110000):
            if unicodedata.category(chr(code)) in ("Cc", "Cs"):
                self.assertTrue(has_control(chr(code)), hex(code))

    def test_words(self) -> None:
        """The rule words itself for the refusal and for the reference."""
        self.assertEqual(Text(5).describe(), "at most 5 characters")
        self.assertEqual(Text(5, least=2).describe(), "2 to 5 characters")
        self.assertEqual(
            Text(5, like="[a-z]+", control=False).describe(),
            "at most 5 characters, matching [a-z]+, no control characters",
        )
        self.assertEqual(
            Text(5, like="[a-z]+", meaning="small letters").describe(),
            "at most 5 characters, small letters",
        )


class BetweenTests(SynchronousTestCase):
    """Tests for the rule for numbers."""

    def test_bounds(self) -> None:
        """Both bounds are allowed; what is not finite never is."""
        rule = Range(0, 60)
        for number, broken in (
            (0, False),
            (60, False),
            (60.001, True),
            (-0.001, True),
            (math.nan, True),
            (math.inf, True),
            (-math.inf, True),
        ):
            self.assertEqual(rule.violates(number), broken)

    def test_words(self) -> None:
        """The rule names its bounds without needless digits."""
        self.assertEqual(Range(0, 0.5).describe(), "0 to 0.5")


class ManyTests(SynchronousTestCase):
    """Tests for the rule for lists."""

    def test_count(self) -> None:
        """More entries than allowed are refused."""
        self.assertFalse(MaxItems(2).violates(["a", "a"]))
        self.assertTrue(MaxItems(2).violates(["a", "b", "c"]))

    def test_unique(self) -> None:
        """Duplicates are refused only where the rule forbids them."""
        self.assertTrue(MaxItems(2, unique=True).violates(["a", "a"]))
        self.assertFalse(MaxItems(2, unique=True).violates(["a", "b"]))

    def test_words(self) -> None:
        """The rule words itself."""
        self.assertEqual(MaxItems(8).describe(), "at most 8 entries")
        self.assertEqual(
            MaxItems(8, unique=True).describe(), "at most 8 entries, no duplicates"
        )


class MoreTextTests(SynchronousTestCase):
    """Tests for what else a text's rule may ask for."""

    def test_lines(self) -> None:
        """Tabs and line breaks may be spared from the control characters."""
        rule = Text(9, control=False, lines=True)
        self.assertFalse(rule.violates("a\tb\r\nc"))
        self.assertTrue(rule.violates("a\x1bb"))
        self.assertEqual(
            rule.describe(),
            "at most 9 characters, no control characters except tabs and line breaks",
        )

    def test_blank(self) -> None:
        """A text may have to be more than white space."""
        rule = Text(9, blank=False)
        self.assertTrue(rule.violates("  "))
        self.assertFalse(rule.violates(" a"))
        self.assertEqual(rule.describe(), "at most 9 characters, not blank")

    def test_exact(self) -> None:
        """A text of one length only is worded so."""
        self.assertEqual(Text(4, least=4).describe(), "4 characters")


class OneOfTests(SynchronousTestCase):
    """Tests for the rule for choices."""

    def test_choice(self) -> None:
        """Only the given strings are allowed, exactly."""
        rule = OneOf(("low", "high"))
        self.assertFalse(rule.violates("low"))
        self.assertTrue(rule.violates("Low"))
        self.assertEqual(rule.describe(), "one of low, high")


class SchemaTests(SynchronousTestCase):
    """What each rule is in JSON Schema; ``tests.schemas`` compares what both accept."""

    def test_numbers_and_lists(self) -> None:
        """Each has the keywords of its bounds."""
        self.assertEqual(Range(1, 2).schema(), {"minimum": 1, "maximum": 2})
        self.assertEqual(MaxItems(3).schema(), {"maxItems": 3})
        unique = {"maxItems": 3, "uniqueItems": True}
        self.assertEqual(MaxItems(3, unique=True).schema(), unique)
        self.assertEqual(OneOf(("a", "b")).schema(), {"enum": ["a", "b"]})
        self.assertEqual(Lenient(str).schema(), {LENIENT: True})
        self.assertFalse(Lenient(str).violates(1))
        check = Check("not 1", {"not": {"const": 1}}, lambda value: value == 1)
        self.assertEqual(check.schema(), {"not": {"const": 1}})
        self.assertEqual((check.describe(), check.violates(1)), ("not 1", True))
        self.assertIn("ignored", Lenient(str).describe())

    def test_texts(self) -> None:
        """A text has its lengths, and a pattern for each thing that is required."""
        self.assertEqual(Text(5).schema(), {"maxLength": 5})
        like = {"minLength": 1, "maxLength": 5, "pattern": "^(?:[a-z]+)$"}
        self.assertEqual(Text(5, like="[a-z]+", least=1).schema(), like)
        strict = Text(5, like="a", control=False, lines=True, blank=False).schema()
        self.assertEqual(len(strict["allOf"]), 3)
        pattern = re.compile(Text(9, control=False, lines=True).schema()["pattern"])
        self.assertTrue(pattern.search("a\nb"))
        self.assertFalse(pattern.search("a\x1bb"))
