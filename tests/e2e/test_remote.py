"""The reference page in a real browser: as a user works it, and by snippets."""

import json
import re

from ..npm import ROOT
from .browser import open_browser
from .daemon import HomeCase, run
from .walk import CARD, running_demo, walk


class BrowserTests(HomeCase):
    """Tests for the demo's page, and for one that is not served for snippets."""

    def test_demo(self):
        """A user installs a plugin; before, ``eval`` and ``call`` read and work it."""
        steps: list[str] = []
        pictures = self.home / "pictures"
        with running_demo() as (shown, _), open_browser() as browser:
            where = ["--host=reference", f"--data-dir={shown.data}"]
            unpaired = run(self.home, "eval", *where, "return 1")
            self.assertEqual(unpaired.returncode, 1)
            self.assertIn("unavailable: no page is paired", unpaired.stderr)
            browser.open(shown.page)
            browser.until_text("#bridge-state", "Connected")

            def evaluated(code):
                ran = run(self.home, "eval", *where, code)
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))
                return json.loads(ran.stdout)

            read = "text('h1'), text('#nothing'), visible('h1'), visible('#home')"
            state = "Object.keys(rects('h1')[0]), manager.all, host.connection.state"
            self.assertEqual(
                evaluated(f"return [{read}, {state}]"),
                [
                    *("Bridge", None, True, False),
                    *(["x", "y", "width", "height"], [], "connected"),
                ],
            )
            page = (ROOT / "docs" / "debugging.md").read_text("utf-8")
            (click,) = re.findall("eval '(click.*)'", page)
            self.assertEqual(evaluated(click), "Add a plugin")
            called = run(self.home, "call", *where, "--compact", "plugins/list")
            self.assertEqual(json.loads(called.stdout)["plugins"], [])
            browser.open("about:blank")
            walk(browser, shown, steps.append, pictures)
            self.assertIn("Hello from a plugin", browser.text(CARD))
            self.assertEqual(browser.console_errors(), [])
        self.assertEqual(len(steps), 5)
        self.assertEqual(len(list(pictures.iterdir())), 4)
