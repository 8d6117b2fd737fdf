"""How far names for global objects are followed; which are, others test."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.javascript import aliases
from bridge.plugins.policy.javascript.aliases import Uses
from bridge.plugins.policy.javascript.tokens import Code, UnreadableError


class StepTests(SynchronousTestCase):
    """Tests for ``Uses``."""

    def follow(self, text: str) -> Uses:
        """Follow every ``document`` of a text."""
        code = Code(text)
        uses = Uses(code)
        texts = enumerate(code.texts)
        uses.follow({n: "document" for n, one in texts if one == "document"})
        return uses

    def test_attack_too_many(self) -> None:
        """Where there is no end to it, nothing is accepted."""
        most = 20_000
        self.patch(aliases, "_MOST", most)
        for text in (
            "x = " + "document || " * 5_000 + "y;",
            "document.a;\n" * (most + 1),
        ):
            self.assertRaises(UnreadableError, self.follow, text)
