"""The scan of every snippet of the corpus, as it is and written differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tree_sitter import Node, Parser
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.parsing import grammar
from bridge.plugins.policy.scan import scan_source

from .snippets import ACCEPTED, CORPUS, FILES, REFUSED, Snippet, snippets

OF_TEXT = {
    *("minified", "packed source", "escape sequences", "mangled identifiers"),
    *("opaque blob", "invisible characters", "source map reference", "html comment"),
    *("syntax error", "ambiguous syntax", "type syntax in JavaScript"),
}
"""Rules on how something is written: other writing may well be accepted."""

REWRITTEN = [one for one in REFUSED if one.rule not in OF_TEXT]
WHOLE = {"string", "template_string", "regex", "comment", "jsx_text"}
OPEN = {*"([{,=.;", "?.", "${"}
CLOSED = {*")],.=;", "?."}


def reports(snippet: Snippet, code: str = "") -> list[str]:
    """What the scan reports of a snippet, or of its file with other code."""
    content = (code or snippet.code).encode()
    return [hit.report for hit in scan_source(snippet.file, content)]


def is_found(snippet: Snippet, code: str) -> bool:
    """Whether the code is refused as the snippet is, or because it does not parse."""
    found = {hit.rule for hit in scan_source(snippet.file, code.encode())}
    return bool(found & {snippet.rule, "syntax error"})


def wrong(snippet: Snippet) -> str:
    """What is wrong with the verdict on a snippet; empty when it is right."""
    found = reports(snippet)
    is_right = snippet.report in found if snippet.report else not found
    return "" if is_right else f"{snippet.name}: {snippet.report or None}, not {found}"


def tokens(snippet: Snippet) -> list[tuple[str, str]]:
    """A snippet's tokens, each with the blank text before it."""
    suffix = snippet.file[snippet.file.rindex(".") :]
    data = snippet.code.encode()
    leaves: list[Node] = []
    pending = [Parser(grammar(suffix)).parse(data).root_node]
    while pending:
        node = pending.pop()
        if node.type in WHOLE or not node.children:
            leaves.append(node)
        else:
            pending.extend(reversed(node.children))
    found, end = [], 0
    for leaf in leaves:
        if leaf.end_byte > leaf.start_byte:
            text = data[leaf.start_byte : leaf.end_byte].decode()
            found.append((data[end : leaf.start_byte].decode(), text))
            end = leaf.end_byte
    return found


def rewritten(snippet: Snippet, choose: Callable[[list[str]], str]) -> str:
    """A snippet with blanks and comments put between its tokens."""
    code, before = "", ""
    for blank, token in tokens(snippet):
        blanks = ["", " ", "\t", "/* eval */", ' /* " */ ']
        # Anywhere else the end of a line can also be the end of a statement.
        if before in OPEN or token in CLOSED:
            blanks += ["\n", "// it's\n", "\r\n  ", "/*\n*/"]
        # A slash and a comment make a comment of another kind.
        code += blank + ("" if before in ("", "/", "</") else choose(blanks)) + token
        before = token
    return code


def _at(place: int) -> Callable[[list[str]], str]:
    return lambda blanks: blanks[place % len(blanks)]


def _file_test(path: Path) -> Callable[[SynchronousTestCase], None]:
    def test(self: SynchronousTestCase) -> None:
        found = [wrong(snippet) for snippet in snippets(path)]
        self.assertEqual([text for text in found if text], [])

    test.__doc__ = f"Every snippet of {path.parent.name}/{path.name} gets its verdict."
    return test


class VerdictTests(SynchronousTestCase):
    """Each snippet by itself: one test for each file of the corpus."""

    def test_enough(self) -> None:
        """There are many of both, and every rule stands in three disguises or more."""
        self.assertGreaterEqual(len(REFUSED), 150)
        self.assertGreaterEqual(len(ACCEPTED), 150)
        thin = {r for r, n in Counter(one.rule for one in REFUSED).items() if n < 3}
        self.assertEqual(thin, set())
        everything = "".join(path.read_text(encoding="utf-8") for path in FILES)
        count = everything.count("\n==== ") + 1
        self.assertEqual(count, len(ACCEPTED + REFUSED))

    def test_places(self) -> None:
        """Refused and accepted snippets stand in directories of their own."""
        for name, is_refused in (("refused", True), ("accepted", False)):
            for path in (CORPUS / name).iterdir():
                self.assertEqual({bool(o.report) for o in snippets(path)}, {is_refused})


for _path in FILES:
    setattr(VerdictTests, f"test_{_path.parent.name}_{_path.stem}", _file_test(_path))


class RewritingTests(SynchronousTestCase):
    """What can be changed about a file without changing its verdict."""

    @given(st.data())
    @settings(deadline=None, max_examples=300)
    def test_attack_reformatting(self, data: st.DataObject) -> None:
        """Blanks, line ends and comments between tokens never hide a construct."""
        snippet = data.draw(st.sampled_from(REWRITTEN))
        code = rewritten(snippet, lambda blanks: data.draw(st.sampled_from(blanks)))
        self.assertTrue(is_found(snippet, code), code)

    def test_attack_every_blank(self) -> None:
        """Neither does any one blank or comment, put everywhere at once."""
        for place in range(-4, 5):
            for snippet in REWRITTEN:
                code = rewritten(snippet, _at(place))
                self.assertTrue(is_found(snippet, code), code)

    @given(st.sampled_from(ACCEPTED), st.data())
    @settings(deadline=None, max_examples=150)
    def test_honest_comments(self, snippet: Snippet, data: st.DataObject) -> None:
        """Comments about anything around honest code leave it accepted."""
        words = st.sampled_from(
            ["window", "eval(x)", "<script", "it's", "`", "${", "/"]
        )
        first, last = (" ".join(data.draw(st.lists(words))) for _ in range(2))
        before = "" if snippet.code.startswith(("#!", "'use")) else f"/* {first} */\n"
        code = f"{before}{snippet.code}\n// {last}\n"
        self.assertEqual(reports(snippet, code), [])

    @given(
        st.sampled_from(REFUSED), st.sampled_from(["\n", "// eval(x)\n", "/* a */ "])
    )
    @settings(deadline=None, max_examples=150)
    def test_comment_below(self, snippet: Snippet, text: str) -> None:
        """Lines of comment below a construct change no report of it."""
        if snippet.rule not in ("packed source", "syntax error", "ambiguous syntax"):
            found = reports(snippet, f"{snippet.code}\n{text}")
            self.assertEqual(found, reports(snippet))
