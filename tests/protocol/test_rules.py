import re
import unicodedata

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol import rules


class TextTests(SynchronousTestCase):
    def test_every_control_character(self) -> None:
        """No character is forgotten."""
        rule = rules.Text(1, control=False)
        for code in range(0x110000):
            if unicodedata.category(chr(code)) in ("Cc", "Cs"):
                self.assertTrue(rule.violates(chr(code)), hex(code))


class SchemaTests(SynchronousTestCase):
    """What each rule is in JSON Schema; ``tests.schemas`` compares what both accept."""

    def test_numbers_and_lists(self) -> None:
        """Each has the keywords of its bounds."""
        self.assertEqual(rules.Range(1, 2).schema(), {"minimum": 1, "maximum": 2})
        self.assertEqual(rules.MaxItems(3).schema(), {"maxItems": 3})
        unique = {"maxItems": 3, "uniqueItems": True}
        self.assertEqual(rules.MaxItems(3, unique=True).schema(), unique)
        self.assertEqual(rules.OneOf(("a", "b")).schema(), {"enum": ["a", "b"]})
        self.assertEqual(rules.Lenient(str).schema(), {rules.LENIENT: True})
        self.assertFalse(rules.Lenient(str).violates(1))
        check = rules.Check("not 1", {"not": {"const": 1}}, lambda value: value == 1)
        self.assertEqual(check.schema(), {"not": {"const": 1}})
        self.assertEqual((check.describe(), check.violates(1)), ("not 1", True))
        self.assertIn("ignored", rules.Lenient(str).describe())

    def test_texts(self) -> None:
        """A text has its lengths, and a pattern for each thing that is required."""
        self.assertEqual(rules.Text(5).schema(), {"maxLength": 5})
        like = {"minLength": 1, "maxLength": 5, "pattern": "^(?:[a-z]+)$"}
        self.assertEqual(rules.Text(5, like="[a-z]+", least=1).schema(), like)
        strict = rules.Text(
            5, like="a", control=False, lines=True, blank=False
        ).schema()
        self.assertEqual(len(strict["allOf"]), 3)
        pattern = re.compile(
            rules.Text(9, control=False, lines=True).schema()["pattern"]
        )
        self.assertTrue(pattern.search("a\nb"))
        self.assertFalse(pattern.search("a\x1bb"))
