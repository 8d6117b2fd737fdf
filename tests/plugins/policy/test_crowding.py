"""Tests for bridge.plugins.policy.crowding."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.budget import TooComplexError
from bridge.plugins.policy.crowding import Crowding
from bridge.protocol.limits import SOURCE_NESTING


def read(text: bytes) -> None:
    """Read a whole text ahead."""
    Crowding(text).read_to(len(text))


class CrowdingTests(SynchronousTestCase):
    """What is open in a text, counted line by line."""

    def refuse(self, text: bytes) -> None:
        """A text must be refused."""
        with self.assertRaises(TooComplexError):
            read(text)

    def test_brackets(self) -> None:
        """As many may be open as the limit says, and those that were closed are not."""
        for line in (b"(\n", b"[\n", b"{\n"):
            read(line * (SOURCE_NESTING - 1))
            self.refuse(line * SOURCE_NESTING)
        read((b"(\n" * 300 + b")\n" * 300) * 5)

    def test_closed_only(self) -> None:
        """More brackets closed than opened are no nesting."""
        read(b")\n" * 50 + b"(\n" * (SOURCE_NESTING - 1))

    def test_angles(self) -> None:
        """Types in types end with a statement; a comma ends none."""
        self.refuse(b"a<b<c<\n" * 70)
        self.refuse(b"a<b, c<\n" * 110)
        read(b"a<b<c<;\n" * 200)
        read(b"if (a <= b && b >= c)\n" * 300)

    def test_elements(self) -> None:
        """An element that is closed, by itself or by another, is not open."""
        self.refuse(b"<a>\n" * 1_001)
        read(b"<a></a><b/>\n" * 1_001)

    def test_arrows(self) -> None:
        """Arrow functions in arrow functions are nested; beside each other not."""
        self.refuse(b"a=>\n" * 10_001)
        read(b"f(a=>b, a=>c);\n" * 6_000)

    def test_run(self) -> None:
        """A text in one piece is bounded, and what separates its pieces ends it."""
        self.refuse(b"a + b +\n" * 15_000)
        read(b"a + b,\n" * 15_000)

    def test_comments(self) -> None:
        """Neither comments nor strings count, but far too many brackets do."""
        line = b"(((("
        for text in (
            b"// " + line + b"\n",
            b"/* " + line + b" */\n",
            b"'" + line + b"'\n",
            b'"\\"' + line + b'"\n',
        ):
            read(text * 300)
            self.refuse(text * 600)
        read(b"/*\n" + b"a (\n" * 600 + b"*/\n")
        self.refuse(b"/* a\n" + b"! +\n" * 40_000 + b"*/\n")

    def test_line_comments(self) -> None:
        """Any number of lines of comment may stand below each other."""
        read(b"  // some words\n" * 60_000)

    def test_apostrophe(self) -> None:
        """One in the text of an element begins no string."""
        self.refuse(b"<p>it's ((\n" * 260)

    def test_in_steps(self) -> None:
        """It reads no further than is asked, in whole lines, and the rest later."""
        text = b"a;\n" * 100 + b"(\n" * SOURCE_NESTING
        crowding = Crowding(text)
        crowding.read_to(150)
        crowding.read_to(300)
        with self.assertRaises(TooComplexError):
            crowding.read_to(len(text) + 1)
