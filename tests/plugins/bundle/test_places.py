"""Where an import is written, as the refusals of a bundle name it."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.metafile import Edge, place_of, specifier_shown


def place(specifier: str, text: bytes) -> str:
    """Where it is in ``m.ts``."""
    return place_of(Edge("m.ts", "x", specifier, external=False), lambda _: text)


class PlaceTests(SynchronousTestCase):
    """The file and the line."""

    def test_lines(self):
        """Lines are counted from 1, whatever the import is like."""
        for text in (
            b"\nimport x from './x';",
            b'\r\nimport "./x"',
            b"\nexport * from'./x'",
            b"\nconst x = require( './x' )",
            b"import {\n} from './x';\nimport './x'",
            b"import(\n`./x`)",
            b"// './x'\nimport './x'",
            b"import x from\n'./x';",
            b"\nimport x from /* odd */ './x'",
        ):
            self.assertEqual(place("./x", text), "m.ts:2", text)

    def test_attack_blanks(self):
        """A text made to be slow to search is searched as fast as any."""
        for word in (b"from", b"import(", b"require"):
            self.assertEqual(place("./x", word + b" " * 2_000_000), "m.ts")

    def test_pattern(self):
        """What stands for many files is found by what is known of it."""
        self.assertEqual(place("./x/**/*.ts", b"\n\nimport(`./x/${n}`)"), "m.ts:3")

    def test_not_found(self):
        """An import that is spelled in another way has no line."""
        self.assertEqual(place("./x", b"import '\\u002e/x'"), "m.ts")
        self.assertEqual(place("./x", b"import './x/y'"), "m.ts")

        def gone(path):
            raise FileNotFoundError(path)

        edge = Edge("m\x1b.ts", "x", "x", external=False)
        self.assertEqual(place_of(edge, gone), "m.ts")


class SpecifierTests(SynchronousTestCase):
    """What is repeated."""

    def test_shown(self):
        """A plain name is, in quotes, and nothing else."""
        self.assertEqual(specifier_shown("@a/b-c.js"), '"@a/b-c.js"')
        for odd in ("", "a b", "https://x", "a\nb", "\u202e", "a" * 101, "é", '"'):
            self.assertEqual(specifier_shown(odd), "another module")
