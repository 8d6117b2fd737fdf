"""The kinds of syntax nodes the walk knows."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy import kinds
from bridge.plugins.policy.parsing import grammar


class KindTests(SynchronousTestCase):
    """The tables fit the grammar."""

    def test_known(self) -> None:
        """Every kind and token in the tables is one that a grammar makes."""
        made = {
            language.node_kind_for_id(number)
            for language in (grammar(".ts"), grammar(".tsx"))
            for number in range(language.node_kind_count)
        }
        for table in (
            kinds.SCOPES,
            kinds.TYPES,
            kinds.CASTS,
            kinds.TYPESCRIPT_ONLY,
            kinds.ONE_LINE,
            kinds.SUFFIXED,
            kinds.SLASHES,
            kinds.STARTS,
            kinds.LEGACY_COMMENTS,
            kinds.OPENERS,
        ):
            self.assertEqual(set(table) - made, set())

    def test_attack_ambiguous(self) -> None:
        """Nothing that can end an operand counts as what an expression follows."""
        enders = {
            ">",
            ">>",
            ">>>",
            "]",
            "++",
            "--",
            "await",
            "yield",
            "identifier",
            "'",
            "`",
            "as",
        }
        self.assertEqual(kinds.OPENERS & enders, set())
