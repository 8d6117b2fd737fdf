"""Parsing in pieces."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy import parsing
from bridge.plugins.policy.budget import Budget, TooComplexError
from bridge.plugins.policy.parsing import (
    STATEMENT_BYTES,
    WINDOW_BYTES,
    BadSyntaxError,
    grammar,
    pieces,
)

TYPESCRIPT = grammar(".ts")
UNIT = b"export function f(a: number): string {\n  return `${a / 2}`;\n}\n"


class PieceTests(SynchronousTestCase):
    """What a file is cut into."""

    def pieces(self, content: bytes) -> list[tuple[int, int]]:
        """The bytes and rows of each piece."""
        return [
            (piece.end, piece.row) for piece in pieces(content, TYPESCRIPT, Budget())
        ]

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
        content = (
            b"const a = [\n" + b"  ['some words', (a) => a.member],\n" * 3_000 + b"];\n"
        )
        self.assertEqual(self.pieces(content), [(len(content), 0)])
        found = self.pieces(content + UNIT * 3000)
        self.assertEqual(sum(end for end, _ in found), len(content) + len(UNIT) * 3000)

    def test_statements_of_half_the_widest(self) -> None:
        """Statements that two of fill the widest window are pieces of their own."""
        statement = (
            b"const a = [\n" + b"  ['some words', 'others'],\n" * 2_200 + b"];\n"
        )
        content = statement * 4 + UNIT
        self.assertEqual(sum(end for end, _ in self.pieces(content)), len(content))

    def test_attack_endless_statement(self) -> None:
        """A statement beyond what people write is refused, however it ends."""
        for head, line in (
            (b"const a = [\n", b"  [1, 'x', (a) => a.b],\n"),
            (b"if (a) {}\n", b"else if (b) {}\n"),
            (b"/*\n", b"a word\n"),
        ):
            with self.assertRaises(TooComplexError):
                self.pieces(head + line * (STATEMENT_BYTES * 5 // 4 // len(line)))

    def test_long_comment(self) -> None:
        """A comment longer than a piece is no text of errors."""
        content = UNIT + b"/*\n" + b"A word in it's text.\n" * 4_000 + b"*/\n" + UNIT
        self.assertEqual(sum(end for end, _ in self.pieces(content)), len(content))

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
            for piece in pieces(content, TYPESCRIPT, Budget()):
                kept = piece.data[: piece.end]
                self.assertEqual(b"x = a" in kept, b"/fetch" in kept)

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

    def test_attack_noise(self) -> None:
        """A text of errors is refused at its first window, not at the widest one."""
        for line in (b"const = 1;\n", b"case a: b;\n"):
            budget = Budget()
            with self.assertRaises(BadSyntaxError):
                list(pieces(UNIT + line * 90_000, TYPESCRIPT, budget))
            self.assertGreater(budget.nodes, 0)

    def test_attack_noise_in_many_files(self) -> None:
        """Errors cost more than what parses, and end a whole tree's budget."""
        budget = Budget()
        for _ in range(30):
            try:
                list(pieces(b"case a:\n" * 8_000, TYPESCRIPT, budget))
            except BadSyntaxError:
                continue
            except TooComplexError:
                return
        self.fail("all of it was parsed")

    def test_dense(self) -> None:
        """A text of very many nodes is cut into smaller pieces."""
        content = b";" * WINDOW_BYTES * 2
        found = self.pieces(content)
        self.assertEqual(sum(end for end, _ in found), len(content))
        self.assertLess(max(end for end, _ in found), WINDOW_BYTES)

    def test_attack_dense_statement(self) -> None:
        """A statement of more nodes than can be freed at once is refused."""
        with self.assertRaises(TooComplexError):
            self.pieces(b"{\n" + b";" * (2 * WINDOW_BYTES) + b"}\n")

    def test_attack_dense_file(self) -> None:
        """More nodes than a tree may have end the scan."""
        with self.assertRaises(TooComplexError):
            self.pieces(b";\n" * 1_000_000)

    def test_cut_elements(self) -> None:
        """A large component is no text of errors, wherever a window ends."""
        item = b"""<li className="row" onClick={() => pick(1)}>
          {open ? (<p>it's open</p>) : (<p>it isn't {name}</p>)} &amp; more's
          <>{items.map(i => <b key={i} {...rest}>{`a ${i}`}</b>)}</></li>\n"""
        for lead in range(0, 260, 20):
            content = b"const a = (\n  <ul>" + b" " * lead + item * 500 + b"</ul>\n);\n"
            (piece,) = pieces(content, grammar(".tsx"), Budget())
            self.assertEqual(piece.end, len(content))

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

    def test_attack_nesting_in_what_looks_like_a_comment(self) -> None:
        """Nothing that is taken for a comment hides nesting."""
        for head in (b"/*\n", b"const g = `/*`;\n", b"const g = `'`; '\n"):
            for line in (b"<a>" * 30 + b"\n", b"((((((((((\n", b"a<a<a<a<a<\n"):
                with self.assertRaises(TooComplexError):
                    self.pieces(head + line * 400)

    def test_elements(self) -> None:
        """Any number of elements beside each other is no nesting."""
        line = b"    <li><b>one</b><img /> two</li>\n"
        content = b"const a = (\n  <ul>\n" + line * 1_200 + b"  </ul>\n);\n"
        (piece,) = pieces(content, grammar(".tsx"), Budget())
        self.assertEqual(piece.end, len(content))

    def test_apostrophes(self) -> None:
        """Apostrophes in the text of many elements do not look like nesting."""
        line = b"    {open ? (<p>it's open</p>) : (<p>it isn't</p>)}\n"
        content = b"const a = (\n  <div>\n" + line * 900 + b"  </div>\n);\n"
        (piece,) = pieces(content, grammar(".tsx"), Budget())
        self.assertEqual(piece.end, len(content))

    def test_late(self) -> None:
        """A parse that takes too long is given up."""
        self.patch(parsing, "_SECONDS", -100.0)
        with self.assertRaises(TooComplexError):
            self.pieces(UNIT * 50)

    def test_without_line_ends(self) -> None:
        """A text without line ends is cut at the size of a piece."""
        found = self.pieces(b"f(1);" * 20_000)
        self.assertEqual(sum(end for end, _ in found), 100_000)

    def test_grammars(self) -> None:
        """Only TypeScript without JSX knows assertions in angle brackets."""
        for suffix in (".ts", ".mts", ".cts"):
            list(pieces(b"<any>x", grammar(suffix), Budget()))
        for suffix in (".tsx", ".jsx", ".js", ".mjs", ".cjs"):
            list(pieces(b"const a = <b>x</b>", grammar(suffix), Budget()))
