"""The table of refused constructs."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.rules.table import (
    ADVICE,
    advice,
)


class AdviceTests(SynchronousTestCase):
    """Every refusal comes with what to do about it."""

    def test_form(self) -> None:
        """Each is one short phrase that a terminal can show."""
        for rule, text in ADVICE.items():
            self.assertTrue(text.isascii() and text.isprintable(), rule)
            self.assertTrue(0 < len(text) <= 120, (rule, len(text)))
            self.assertFalse(text.endswith("."), rule)
            self.assertFalse(text[0].isupper(), rule)

    def test_unknown(self) -> None:
        """A rule of another version, which a daemon may report, has none."""
        self.assertEqual(advice("no such rule"), "")
        self.assertEqual(advice("fetch"), ADVICE["fetch"])
