"""The table of refused constructs."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.rules.table import ADVICE


class AdviceTests(SynchronousTestCase):
    """Every refusal comes with what to do about it."""

    def test_form(self) -> None:
        """Each is one short phrase that a terminal can show."""
        for rule, text in ADVICE.items():
            self.assertTrue(text.isascii() and text.isprintable(), rule)
            self.assertTrue(0 < len(text) <= 120, (rule, len(text)))
            self.assertFalse(text.endswith("."), rule)
            self.assertFalse(text[0].isupper(), rule)
