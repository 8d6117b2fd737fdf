"""The nearest of some known words."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import NAME_CHARACTERS
from bridge.protocol.nearest import nearest

KNOWN = ("install", "uninstall", "list")


class NearestTests(SynchronousTestCase):
    @given(st.text())
    def test_only_known_words(self, word):
        """Whatever was sent, the hint consists of known words."""
        hints = {"", *(f"; did you mean {known}?" for known in KNOWN)}
        self.assertIn(nearest(word, KNOWN), hints)

    def test_attack_long_word(self):
        """A word longer than a name is not compared."""
        self.assertEqual(nearest("i" * (NAME_CHARACTERS + 1), ["i" * 65]), "")
