"""The reference page in a real browser, with everything behind it real."""

from twisted.trial.unittest import SynchronousTestCase

from .browser import open_browser
from .walk import ARTEFACTS, CARD, running_demo, walk


class BrowserTests(SynchronousTestCase):
    """Tests for the main job as a user does it."""

    def test_pair_install_reload_run(self):
        """The page pairs, installs a signed plugin, reloads, and the plugin runs."""
        steps: list[str] = []
        with running_demo() as (shown, _), open_browser() as browser:
            walk(browser, shown, steps.append)
            self.assertIn("Hello from a plugin", browser.text(CARD))
            self.assertEqual(browser.console_errors(), [])
        self.assertEqual(len(steps), 5)
        self.assertTrue((ARTEFACTS / "5-plugin-running.png").stat().st_size > 10_000)
