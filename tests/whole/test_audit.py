"""The checks of every state of a page find what they are for."""

from urllib.parse import quote

from twisted.trial.unittest import SynchronousTestCase

from .audit import Auditor
from .browser import open_browser

BAD = """\
<!doctype html><html lang="en"><title>Bad</title><main><h1>Bad</h1>
<p style="color: #ccc; background: #fff">Hardly to be read.</p>
<div style="width: 500px" id="one">wide</div>
<button style="height: 20px" id="one">small</button></main>
"""


class AuditTests(SynchronousTestCase):
    """Tests for the auditor, on a page with one of each."""

    def test_finds_what_is_wrong(self) -> None:
        """It finds a width, a size, an id and a contrast."""
        with open_browser() as browser:
            browser.open(f"data:text/html,{quote(BAD)}")
            found = Auditor(browser.chrome).problems("bad")
        self.assertTrue(any("320 px: wider" in one for one in found), found)
        self.assertFalse(any("1000 px: wider" in one for one in found), found)
        self.assertTrue(any("too small: BUTTON" in one for one in found), found)
        self.assertTrue(any("the id one" in one for one in found), found)
        self.assertTrue(any("light: color-contrast" in one for one in found), found)
