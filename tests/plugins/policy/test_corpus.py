"""The scan of every snippet of the corpus."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.rules import ADVICE, UNKNOWN
from bridge.plugins.policy.scan import PACKED

from .scanning import scan_source, scan_whole
from .snippets import ACCEPTED, CORPUS, FILES, REFUSED, Snippet, snippets


def hits(snippet: Snippet, code: str = "") -> list[str]:
    """What the scan finds in a snippet, or in its file with other code."""
    scan = scan_whole if UNKNOWN in snippet.rules else scan_source
    found = scan(snippet.file, (code or snippet.code).encode())
    return [f"{hit.line} {hit.rule}" for hit in found]


def _file_test(path: Path) -> Callable[[SynchronousTestCase], None]:
    def test(self: SynchronousTestCase) -> None:
        for snippet in snippets(path):
            with self.subTest(snippet.name, code=snippet.code):
                self.assertEqual(hits(snippet), list(snippet.hits))

    test.__doc__ = f"Every snippet of {path.parent.name}/{path.name} gets its verdict."
    return test


class VerdictTests(SynchronousTestCase):
    """Each snippet by itself: one test for each file of the corpus."""

    def test_enough(self) -> None:
        """There are many of both, and every rule stands in three disguises or more."""
        # One of a whole file is long: test_scan has it, and its boundary.
        self.assertGreaterEqual(len(REFUSED), 700)
        self.assertGreaterEqual(len(ACCEPTED), 400)
        count = Counter(rule for one in REFUSED for rule in set(one.rules))
        self.assertEqual({rule for rule, times in count.items() if times < 3}, set())
        whole = {"too complex to check", PACKED}
        whole.update(rule for rule in ADVICE if "more than" in rule)
        self.assertEqual(set(ADVICE), set(count) | whole)

    def test_advice(self) -> None:
        """Each refusal comes with one short phrase that a terminal can show."""
        for rule, text in ADVICE.items():
            self.assertTrue(text.isascii() and text.isprintable(), rule)
            self.assertTrue(0 < len(text) <= 120, (rule, len(text)))
            self.assertFalse(text.endswith("."), rule)
            self.assertFalse(text[0].isupper(), rule)
            # A plugin of some hosts runs where there is none.
            where = "createElement" not in text or "if there is a document" in text
            self.assertTrue(where, rule)

    def test_places(self) -> None:
        """Refused and accepted snippets stand in directories of their own."""
        for path in FILES:
            is_refused = path.parent == CORPUS / "refused"
            self.assertEqual({bool(one.hits) for one in snippets(path)}, {is_refused})


for _path in FILES:
    _name = "attack" if _path.parent.name == "refused" else "honest"
    setattr(VerdictTests, f"test_{_name}_{_path.stem}", _file_test(_path))


class CommentTests(SynchronousTestCase):
    """What can be added to a file without changing its verdict."""

    @given(
        st.sampled_from(REFUSED),
        st.sampled_from(["", "// a window, eval(x)", "/* fetch\n */", "'use x';"]),
        st.sampled_from(["", "\n// eval(x)\n", "\n/* a `${ it's <script */ "]),
    )
    @settings(max_examples=150)
    def test_attack_comments(self, snippet: Snippet, above: str, below: str) -> None:
        """What stands above or below a construct hides it nowhere."""
        if "syntax error" not in snippet.rules:
            found = hits(snippet, f"{above}\n{snippet.code}{below}")
            lines = above.count("\n") + 1
            expected = [
                f"{int(line) + lines} {rule}"
                for line, _, rule in (hit.partition(" ") for hit in snippet.hits)
            ]
            self.assertEqual(found, expected)
