"""Tests for bridge.sinks.notification; what callers see is tested with the service."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.errors import BridgeError
from bridge.sinks.notification import FIELDS, RULES, Patch, notification, patched


class JudgeTests(SynchronousTestCase):
    """Tests for judging what a caller said."""

    def test_a_title_is_needed(self):
        """A patch alone is no notification."""
        with self.assertRaises(BridgeError) as refused:
            notification(Patch(content="a"), "Sample")
        self.assertEqual(refused.exception.message, "title: required")

    def test_every_rule_has_words(self):
        """What a rule says of itself is one line."""
        for rule in RULES.values():
            self.assertEqual(len(rule.describe().splitlines()), 1)

    def test_patched(self):
        """A patch replaces what it has, also with nothing; the rest stays."""
        base = Patch(title="a", content="b", icon="c", sound=True)
        self.assertEqual(
            patched(base, Patch(icon="", sound=False)),
            Patch(title="a", content="b", icon="", sound=False),
        )

    def test_fields(self):
        """The fields are told of in the order of the reference."""
        self.assertEqual(FIELDS[0], "title")
        self.assertEqual(len(FIELDS), len(set(FIELDS)))
