"""How far names for global objects are followed; which ones are, the corpus has."""

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

    def test_attack_crowd(self) -> None:
        """A crowd of uses hides no name, at its start or at its end."""
        crowd = "document.a;\n" * 20_000
        for text in (f"d = document;\n{crowd}d.b;", f"{crowd}d = document;\nd.b;"):
            uses = self.follow(text)
            self.assertEqual(len(uses.found), 20_002)

    def test_chain(self) -> None:
        """A chain of names is followed to its end, and each name once."""
        text = "a0 = document;\n" + "".join(
            f"a{n + 1} = a{n};\n" * 2 for n in range(5_000)
        )
        found = self.follow(text).found
        self.assertIn((len(Code(text).kinds) - 2, "document"), found)
        self.assertLess(len(self.follow("a = document;\n" * 9_000).found), 18_001)
