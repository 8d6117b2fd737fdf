"""The reference page in a real browser, with everything behind it real."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from .browser import open_browser
from .walk import CARD, running_demo, walk


class BrowserTests(SynchronousTestCase):
    """Tests for the main job as a user does it."""

    def test_pair_install_reload_run(self):
        """The page pairs, installs a signed plugin, reloads, and the plugin runs."""
        steps: list[str] = []
        pictures = Path(self.mktemp())
        with running_demo() as (shown, _), open_browser() as browser:
            walk(browser, shown, steps.append, pictures)
            self.assertIn("Hello from a plugin", browser.text(CARD))
            self.assertEqual(browser.console_errors(), [])
        self.assertEqual(len(steps), 5)
        taken = sorted(pictures.iterdir())
        self.assertEqual(
            [picture.stem for picture in taken],
            ["1-connected", "2-preview", "3-installed", "4-plugin-running"],
        )
        for picture in taken:
            self.assertGreater(picture.stat().st_size, 10_000, picture.name)
