"""
What is reported of an answer, and how far names for global objects are followed.

What sources break, the corpus has.
"""

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.javascript import meaning
from bridge.plugins.policy.javascript.constructs import output_hits
from bridge.plugins.policy.javascript.meaning import Uses
from bridge.plugins.policy.javascript.tokens import Code, UnreadableError
from bridge.plugins.policy.reading import Answer, Source

from ..scanning import MARK

MAP = '{"mappings": "AAAA"}'


class HitTests(SynchronousTestCase):
    def hits(self, code: str) -> list[tuple[int, str]]:
        answer = Answer(code, MAP)
        hits = output_hits(Source("a.ts", b""), answer, [], MARK)
        return [(hit.line, hit.rule) for hit in hits]

    def test_attack_unreadable(self) -> None:
        """What cannot be read is refused."""
        for code in (f'{MARK}eval("', f"({MARK}eval", f"{MARK}eval(" + "[" * 999):
            self.assertEqual(self.hits(code), [(1, "too complex to check")])

    def test_attack_many_hits(self) -> None:
        """Very many hits are not all kept."""
        self.assertEqual(self.hits("a.constructor, " * 1_500), [(1, "constructor")])


class StepTests(SynchronousTestCase):
    def follow(self, text: str) -> Uses:
        code = Code(text)
        uses = Uses(code)
        texts = enumerate(code.texts)
        uses.follow({n: "document" for n, one in texts if one == "document"})
        return uses

    def test_attack_too_many(self) -> None:
        """Where there is no end to it, nothing is accepted."""
        most = 20_000
        self.patch(meaning, "_MOST", most)
        for text in (
            "x = " + "document || " * 5_000 + "y;",
            "document.a;\n" * (most + 1),
        ):
            self.assertRaises(UnreadableError, self.follow, text)
