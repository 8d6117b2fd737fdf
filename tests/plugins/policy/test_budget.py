"""What the sources of one tree may cost."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.budget import Budget, TooComplexError
from bridge.protocol.limits import SOURCE_NODES


class BudgetTests(SynchronousTestCase):
    """Spending."""

    def test_all_of_it(self) -> None:
        """All that there is can be spent, and then nothing more."""
        budget = Budget()
        budget.spend(SOURCE_NODES)
        self.assertEqual(budget.nodes, 0)
        self.assertRaises(TooComplexError, budget.spend, 1)

    def test_attack_errors(self) -> None:
        """A place that does not parse costs more than a node."""
        budget = Budget(1_000)
        budget.spend(100, errors=10)
        self.assertLess(budget.nodes, 800)
