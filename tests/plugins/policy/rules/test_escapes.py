"""The escapes in strings and names."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.rules.escapes import unescape


class EscapeTests(SynchronousTestCase):
    """Escapes and what they stand for."""

    def test_unescape(self) -> None:
        """Every kind of escape is decoded, and no escape is too large."""
        self.assertEqual(unescape(r"\n\t\0\q\\\u{110000}"), "\n\t\0q\\\ufffd")

    @given(st.text(st.sampled_from("\\ux{}0123456789abcdefn\n"), max_size=30))
    @settings(deadline=None)
    def test_any_escape(self, text: str) -> None:
        """Any text is decoded to no more characters than it had."""
        self.assertLessEqual(len(unescape(text)), len(text))
