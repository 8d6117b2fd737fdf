"""The rules on the shape of a file."""

from __future__ import annotations

import random
import string

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.rules.shape import shape_hits

RANDOM = random.Random(1)  # noqa: S311


def noise(length: int) -> str:
    """Random base64 characters."""
    return "".join(RANDOM.choices(string.ascii_letters + string.digits, k=length))


class ShapeTests(SynchronousTestCase):
    """Each rule at its boundary."""

    def rules(self, text: str) -> list[str]:
        """The rules a text breaks."""
        return [rule for _, rule in shape_hits(text)]

    def test_accepted(self) -> None:
        """What people write is accepted."""
        for text in (
            "",
            "x " * 475,
            "x" * 1000,
            r"'\x41\x42\u0043'",
            r"'" + r"\x41" * 8 + "'",
            "_0xy _0x12 0x3a2b",
            "a" * 64 + "0123456789abcdef" * 4,
            "=" * 900,
            "abababab" * 100,
            noise(255),
            "\n".join(["x " * 200] * 3),
            "\n".join(["x " * 125] * 25),
            "é ü 漢字 😀",
        ):
            self.assertEqual(self.rules(text), [], text[:60])

    def test_minified(self) -> None:
        """A line over a thousand characters is refused and not looked into."""
        self.assertEqual(self.rules("f()\n" + "_0x3a2b " * 126), ["minified"])

    def test_invisible(self) -> None:
        """Zero-width characters and direction overrides are refused."""
        for character in "\u200b\u200f\u202a\u202e\u2060\u2064\u2066\u2069\ufeff":
            self.assertEqual(self.rules(f"a{character}b"), ["invisible characters"])

    def test_escapes(self) -> None:
        """Nine escapes in a row are refused, in every notation."""
        for escape in (r"\x41", r"\u0041", r"\u{41}"):
            self.assertEqual(self.rules(escape * 9), ["escape sequences"])

    def test_mangled(self) -> None:
        """The names an obfuscator makes are refused."""
        self.assertEqual(self.rules("var a_0x3A2b"), ["mangled identifiers"])

    def test_opaque(self) -> None:
        """A run of 256 random characters is refused."""
        self.assertEqual(self.rules(f"'{noise(256)}'"), ["opaque blob"])

    def test_packed(self) -> None:
        """Many long lines are refused, on line 1; empty lines do not thin them."""
        text = "\n\n".join(["x " * 200] * 25)
        self.assertEqual(list(shape_hits(text)), [(1, "packed source")])

    def test_order(self) -> None:
        """Rules are reported line by line."""
        text = "_0x3a2b \u200b\n\n" + "x" * 1001
        self.assertEqual(
            list(shape_hits(text)),
            [(1, "invisible characters"), (1, "mangled identifiers"), (3, "minified")],
        )
