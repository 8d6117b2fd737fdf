"""Parsing in pieces."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy import parsing
from bridge.plugins.policy.literals import TooComplexError
from bridge.plugins.policy.parsing import (
    STATEMENT_BYTES,
    WINDOW_BYTES,
    BadSyntaxError,
    Piece,
    grammar,
    pieces,
)

TYPESCRIPT = grammar(".ts")
UNIT = b"export function f(a: number): string {\n  return `${a / 2}`;\n}\n"


class PieceTests(SynchronousTestCase):
    """What a file is cut into."""

    def pieces(self, content: bytes) -> list[tuple[int, int]]:
        """The bytes and rows of each piece."""
        return [(piece.end, piece.row) for piece in pieces(content, TYPESCRIPT)]

    def test_small(self) -> None:
        """A small file is one piece, an empty one none."""
        self.assertEqual(self.pieces(UNIT), [(len(UNIT), 0)])
        self.assertEqual(self.pieces(b""), [])

    def test_large(self) -> None:
        """The pieces of a large file are all of it, and small."""
        content = UNIT * 4000
        found = self.pieces(content)
        self.assertEqual(sum(end for end, _ in found), len(content))
        self.assertLessEqual(max(end for end, _ in found), WINDOW_BYTES)
        self.assertTrue(all(row % 3 in (0, 2) for _, row in found))

    def test_large_statement(self) -> None:
        """A statement larger than a piece is one piece, whatever follows."""
        content = b"const a = [\n" + b"  [1, 'x', (a) => a.b],\n" * 9_000 + b"];\n"
        self.assertEqual(self.pieces(content), [(len(content), 0)])
        found = self.pieces(content + UNIT * 3000)
        self.assertEqual(sum(end for end, _ in found), len(content) + len(UNIT) * 3000)

    def test_statements_of_half_the_widest(self) -> None:
        """Statements that two of fill the widest window are pieces of their own."""
        statement = b"const a = [\n" + b"  [1, 2, 3, 4],\n" * 7_800 + b"];\n"
        content = statement * 4 + UNIT
        self.assertEqual(sum(end for end, _ in self.pieces(content)), len(content))

    def test_attack_endless_statement(self) -> None:
        """A statement beyond what people write is refused, however it ends."""
        for head, line in (
            (b"const a = [\n", b"  [1, 'x', (a) => a.b],\n"),
            (b"if (a) {}\n", b"else if (b) {}\n"),
            (b"/*\n", b"a word\n"),
            (b"const a = 1\n", b"const = 1;\n"),
        ):
            with self.assertRaises(TooComplexError):
                self.pieces(head + line * (STATEMENT_BYTES * 5 // 4 // len(line)))

    def test_only_comments(self) -> None:
        """Any number of comments is read in pieces."""
        content = b"// a word\n" * 60_000
        self.assertEqual(sum(end for end, _ in self.pieces(content)), len(content))

    def test_attack_comments_at_the_cut(self) -> None:
        """No statement is cut off from its rest by the comments inside it."""
        rest = b"x = a\n" + b"// c\n" * 6 + b"/fetch(u)/g;\n"
        for lead in (5, 10, 15, 20, 30, 40):
            before = UNIT * ((WINDOW_BYTES - lead) // len(UNIT))
            before += b"\n" * (WINDOW_BYTES - lead - len(before))
            content = before + rest + UNIT * 2000
            for piece in pieces(content, TYPESCRIPT):
                kept = piece.data[: piece.end]
                self.assertEqual(b"x = a" in kept, b"/fetch" in kept)

    def test_closed(self) -> None:
        """A piece gives its tree back, and has no root then."""
        found: list[Piece] = list(pieces(UNIT, TYPESCRIPT))
        with self.assertRaises(AssertionError):
            found[0].root  # noqa: B018

    def test_bad_syntax(self) -> None:
        """What does not parse is refused with the line of the first place."""
        for content, line in (
            (b"f(1;\n", 1),
            (b"f()\n\nconst = 1", 3),
            (UNIT * 4000 + b"}}\n", 12_001),
            (b"class A {\n  x() {\n    if (\n  }\n}\n", 3),
        ):
            with self.assertRaises(BadSyntaxError) as raised:
                self.pieces(content)
            self.assertAlmostEqual(raised.exception.args[0], line, delta=2)

    def test_attack_nesting(self) -> None:
        """Nesting beyond what people write is refused before it is parsed."""
        for line in (
            b"((((((((((\n",
            b")]}((((((((((\n",
            b"[[/* ]] */[[\n",
            b"a<a<a<a<a<\n",
            b"x = (a, b) => (c, d) =>\n",
            b"! /* b\n */ ! a +\n",
            b"'a(' + ')b' + \"c\" /*/ + (\n*/ + (\n",
        ):
            with self.assertRaises(TooComplexError):
                self.pieces(line * 12_000)

    def test_apostrophes(self) -> None:
        """Apostrophes in the text of many elements do not look like nesting."""
        line = b"    {open ? (<p>it's open</p>) : (<p>it isn't</p>)}\n"
        content = b"const a = (\n  <div>\n" + line * 900 + b"  </div>\n);\n"
        (piece,) = pieces(content, grammar(".tsx"))
        self.assertEqual(piece.end, len(content))

    def test_late(self) -> None:
        """A parse that takes too long is given up."""
        self.patch(parsing, "_SECONDS", -100.0)
        with self.assertRaises(TooComplexError):
            self.pieces(UNIT * 50)

    def test_freeing_late(self) -> None:
        """A tree that can't be freed in pieces in time is freed at once."""
        content = b"const a = [\n" + b"  [1, 'x', (a) => a.b],\n" * 9_000 + b"];\n"
        found = pieces(content, TYPESCRIPT)
        next(found)
        self.patch(parsing, "_SECONDS", -100.0)
        self.assertEqual(list(found), [])

    def test_without_line_ends(self) -> None:
        """A text without line ends is cut at the size of a piece."""
        found = self.pieces(b"f(1);" * 20_000)
        self.assertEqual(sum(end for end, _ in found), 100_000)

    def test_grammars(self) -> None:
        """Only TypeScript without JSX knows assertions in angle brackets."""
        for suffix in (".ts", ".mts", ".cts"):
            list(pieces(b"<any>x", grammar(suffix)))
        for suffix in (".tsx", ".jsx", ".js", ".mjs", ".cjs"):
            list(pieces(b"const a = <b>x</b>", grammar(suffix)))
