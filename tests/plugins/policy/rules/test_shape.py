"""The rules on the shape of a file."""

import random
import string
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.rules.shape import shape_hits

RANDOM = random.Random(1)  # noqa: S311


def noise(length: int) -> str:
    """Random base64 characters."""
    return "".join(RANDOM.choices(string.ascii_letters + string.digits, k=length))


class ShapeTests(SynchronousTestCase):
    """Each rule at its boundary."""

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
            self.assertEqual(list(shape_hits(text)), [], text[:60])

    def test_refused(self) -> None:
        """Each rule refuses what is just beyond it, and says on which line."""
        unseen = "\u200b\u200f\u202a\u202e\u2060\u2064\u2066\u2069\ufeff"
        invisible, mangled = "invisible characters", "mangled identifiers"
        rows: Any = (
            # What is in such a line is not looked at.
            ("f()\n" + "_0x3a2b " * 126, (2, "minified")),
            *((f"a{character}b", (1, invisible)) for character in unseen),
            *(
                (escape * 9, (1, "escape sequences"))
                for escape in (r"\x41", r"\u0041", r"\u{41}")
            ),
            ("var a_0x3A2b", (1, mangled)),
            (f"'{noise(256)}'", (1, "opaque blob")),
            # Empty lines do not thin them.
            ("\n\n".join(["x " * 200] * 25), (1, "packed source")),
            (
                "_0x3a2b \u200b\n\n" + "x" * 1001,
                *((1, invisible), (1, mangled), (3, "minified")),
            ),
        )
        for text, *hits in rows:
            self.assertEqual(list(shape_hits(text)), hits, text[:60])
