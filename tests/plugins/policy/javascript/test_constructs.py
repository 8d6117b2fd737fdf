"""What is reported of an answer; what sources break, the corpus has."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.javascript.constructs import output_hits
from bridge.plugins.policy.reading import Answer, Source

from ..scanning import MARK

MAP = '{"mappings": "AAAA"}'


class HitTests(SynchronousTestCase):
    """Tests for ``output_hits``."""

    def hits(self, code: str, error_line: int = 0) -> list[tuple[int, str]]:
        """Find what an answer breaks."""
        answer = Answer(code, MAP, error_line)
        return output_hits(Source.of("a.ts", b""), answer, [], MARK)

    def test_error(self) -> None:
        """What does not compile is a syntax error, on its line."""
        self.assertEqual(self.hits("", 7), [(7, "syntax error")])

    def test_attack_unreadable(self) -> None:
        """What cannot be read is refused."""
        for code in (f'{MARK}eval("', f"({MARK}eval", f"{MARK}eval(" + "[" * 999):
            self.assertEqual(self.hits(code), [(1, "too complex to check")])

    def test_attack_many_hits(self) -> None:
        """Very many hits are not all kept."""
        self.assertEqual(self.hits("a.constructor, " * 1_500), [(1, "constructor")])
