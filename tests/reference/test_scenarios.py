"""The page and the kit of plugins without a browser: scenarios, run in Node.js."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from .bundling import printed


class ScenarioTests(SynchronousTestCase):
    """Tests for what the page does, in the files ``*_scenarios.ts``."""

    def test_scenarios(self) -> None:
        """Each scenario holds; one that does not is shown with what went wrong."""
        outcomes = printed(Path(__file__).with_name("scenarios.ts"), "--format=esm")
        self.assertGreater(len(outcomes), 100)
        failed = [f"{name}: {why}" for name, why in outcomes.items() if why]
        self.assertEqual(failed, [])
