"""The scan of every snippet of the corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from .scanning import scan_source
from .snippets import ACCEPTED, CORPUS, FILES, REFUSED, Snippet, snippets


def reports(snippet: Snippet, code: str = "") -> list[str]:
    """What the scan reports of a snippet, or of its file with other code."""
    content = (code or snippet.code).encode()
    return [hit.report for hit in scan_source(snippet.file, content)]


def wrong(snippet: Snippet) -> str:
    """What is wrong with the verdict on a snippet; empty when it is right."""
    found = reports(snippet)
    is_right = snippet.report in found if snippet.report else not found
    return "" if is_right else f"{snippet.name}: {snippet.report or None}, not {found}"


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


class CommentTests(SynchronousTestCase):
    """What can be added to a file without changing its verdict."""

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
        if snippet.rule not in ("packed source", "syntax error"):
            found = reports(snippet, f"{snippet.code}\n{text}")
            self.assertEqual(found, reports(snippet))
