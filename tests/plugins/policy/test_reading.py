"""The names of a source; what the bundler makes of one, the corpus has."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.reading import words_in


class WordsTests(SynchronousTestCase):
    def test_attack_words(self) -> None:
        """Words are found wherever they are, and what is between them is not."""
        for text, words in (
            ("", set()),
            ("a.b(...c)?.d", {"a", "b", "c", "d"}),
            ("$ + _ / $_9 - 9a - 12", {"$", "_", "$_9"}),
            ("'in a text' // and a\n comment", {"in", "a", "text", "and", "comment"}),
            ("`a${b}c`", {"a$", "b", "c"}),
            ("<h-b/>", {"h", "b"}),
            ("1..a + 1...b", {"a", "b"}),
            ("é.a ...ü.b ..ö", {"é", "a", "ü", "b", "ö"}),
            # Names in any script.
            ("über.größe größe", {"über", "größe"}),
            ("变量=类", {"变量", "类"}),
            ("a\u0301b c\u200dd", {"a\u0301b", "c\u200dd"}),
            ("a\u00a0b\u2028c\ufeffd\u3000e", {"a", "b", "c", "d", "e"}),
            ("\U00020000 \U0001f600 x", {"\U00020000", "x"}),
            ("\u037a\u0e33", {"\u037a\u0e33"}),
            ("\u0301", set()),
        ):
            self.assertEqual(words_in(text), words, text)

    def test_attack_escapes(self) -> None:
        """A name may be written with escapes, in any part and more than one form."""
        for text in (
            r"\u0077indow",
            r"w\u{69}ndow",
            r"windo\u{00000077}",
            r"...\u0077indow",
            "\\u0077indow é",
        ):
            self.assertIn("window", words_in(text), text)
        self.assertLessEqual(words_in(r"a\u{110000}b"), {"a", "b", "u"})

    @given(st.text(max_size=60))
    def test_any_text(self, text: str) -> None:
        """No word is empty or begins with a digit, and each is found by itself."""
        found = words_in(text)
        self.assertFalse([word for word in found if word[:1] in "0123456789"])
        self.assertGreaterEqual(words_in(" ".join(found)), found)
