import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import NAME_CHARACTERS
from bridge.protocol.text import (
    ascii_line,
    escaped,
    iso_time,
    nearest,
    one_line,
    printable,
    redacted,
    shown,
    timestamp,
    visible,
)


class VisibleTests(SynchronousTestCase):
    def test_kept(self) -> None:
        """Text of any script is kept."""
        for text in ("plain", "日本語 é", "a\u00a0b", "👩\u200d🚀", ""):
            self.assertEqual(visible(text), text)

    def test_terminal_escape_attack(self) -> None:
        """Colours, titles, links and cursor movements vanish with their arguments."""
        for hidden in (
            "\x1b[31;1m",
            "\x1b[2J",
            "\x1b]0;title\x07",
            "\x1b]8;;http://a\x1b\\",
            "\x1bPq#0\x1b\\",
            "\x1bc",
            "\x1b(0",
        ):
            self.assertEqual(visible(f"a{hidden}b"), "ab", repr(hidden))

    def test_bidirectional_attack(self) -> None:
        """What reorders the text around it is taken out."""
        self.assertEqual(visible("\u202eabc\u202c\u2066d\u2069\u200f\u061c"), "abcd")

    @given(
        st.text(alphabet=st.characters()) | st.text("\x1b[]0;m\x9b\\a\u202e\n\ud800")
    )
    def test_any_text(self, text: str) -> None:
        """Nothing hidden is left of any text, and the rest can be encoded."""
        for left in visible(text):
            self.assertNotIn(unicodedata.category(left), ("Cc", "Cs", "Zl", "Zp"))
        visible(text).encode("utf-8")


class EscapedTests(SynchronousTestCase):
    def test_written_out(self) -> None:
        """What controls a terminal, or the direction of text, is seen."""
        self.assertEqual(
            escaped("a\x1b[31mé\u202e\u2028\x9b"), "a\\x1b[31mé\\u202e\\u2028\\x9b"
        )

    @given(st.text())
    def test_attack_terminal(self, text: str) -> None:
        """Nothing that a terminal obeys is left of any text, lone surrogates too."""
        shown = escaped(text)
        self.assertEqual(len(shown.splitlines()) if shown else 1, 1)
        self.assertTrue(shown.isprintable() or " " in shown or not shown.isascii())
        self.assertEqual(escaped(shown), shown)


class PrintableTests(SynchronousTestCase):
    def test_attack_printable(self) -> None:
        """Terminal escapes, direction overrides and lone surrogates are left out."""
        self.assertEqual(printable("a\x1b[2J\n\u202e\ud800\u2028é.ts"), "a[2Jé.ts")
        self.assertEqual(printable("a\n\tb\x1b", "\n\t"), "a\n\tb")


class AsciiLineTests(SynchronousTestCase):
    def test_attack_markup(self) -> None:
        """Markup and other scripts become question marks, line breaks spaces."""
        self.assertEqual(ascii_line('<b>\né & "x"', 20), "?b? ? ? 'x'")
        self.assertEqual(ascii_line("abcdef", 5), "ab...")


class ShownTests(SynchronousTestCase):
    """How a file's name is repeated."""

    def test_attack_terminal(self) -> None:
        """What moves a cursor or turns text around is left out; a long one is cut."""
        self.assertEqual(shown("src/\x1b[2Ja\u202e\u2028é\udcff.ts\n"), "src/[2Jaé.ts")
        self.assertEqual(len(shown("a" * 5000)), 200)


class OneLineTests(SynchronousTestCase):
    def test_cut_and_trimmed(self) -> None:
        """Hidden characters go, then the rest is cut, then trimmed."""
        self.assertEqual(one_line("\n ab\x00c d ", 5), "abc")
        self.assertEqual(one_line("\x1b[31m" * 2 + "abc" * 3, 8), "abcabc")
        self.assertEqual(one_line(" \t\n", 5), "")

    def test_bounded(self) -> None:
        """Only so much of a text is looked at."""
        self.assertEqual(one_line("\n" * 100 + "a", 5), "")


class RedactedTests(SynchronousTestCase):
    def test_replaced(self) -> None:
        """Every secret is replaced, wherever it stands."""
        found = redacted("xs3cretx other", lambda: ["s3cret", "", "other"])
        self.assertEqual(found, "x[redacted]x [redacted]")
        self.assertEqual(redacted("s3cret", tuple), "s3cret")


class TimestampTests(SynchronousTestCase):
    def test_form(self) -> None:
        """Times are ISO 8601 in UTC, to the millisecond."""
        self.assertEqual(timestamp(0), "1970-01-01T00:00:00.000Z")
        self.assertEqual(timestamp(1700000000.1234), "2023-11-14T22:13:20.123Z")

    def test_no_time(self) -> None:
        """What is no time of our calendar is a ValueError."""
        for seconds in (1e300, -1e12, float("nan"), float("inf")):
            self.assertRaises(ValueError, timestamp, seconds)

    def test_as_pages_show_it(self) -> None:
        """A time is in UTC, to the second; what is no time is empty."""
        self.assertEqual(iso_time(1_700_000_000_999), "2023-11-14T22:13:20Z")
        self.assertEqual([iso_time(0), iso_time(-5), iso_time(10**30)], ["", "", ""])


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
