"""Tests for docs/accessible.py and docs/scorer.js, with the site in a browser."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from runpy import run_path
from typing import Final

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from twisted.trial.unittest import SynchronousTestCase

from ..waiting import wait_until
from ..whole.audit import Auditor
from ..whole.browser import open_browser
from .building import DOCS, built

NARROW, WIDE = (320, True), (1200, False)
PAGES: Final = {
    "index": (NARROW, WIDE),
    "using": (NARROW, WIDE),
    # A long list, of which axe looks at every row.
    "threats": (NARROW,),
    "man/plugin-bridge-host.5": (NARROW, WIDE),
    "search": (NARROW, WIDE),
}
"""One of each kind, with everything that the theme and our pages write."""

FOR_USERS: Final = {
    path.stem
    for path in DOCS.glob("*.md")
    if path.stem
    in (
        "installing",
        "using",
        "troubleshooting",
        "notifications",
        "operating",
        "support",
    )
} | {"index", "plugin-bridge.1"}
SOUGHT: Final = ("token", "notification", "upgrade")
"""What users look for; all of it is also in reasons, threats and the reference."""


def first_result(chrome: Chrome) -> str:
    """Return the name of the first page that a search has found, without its suffix."""

    def links() -> list[WebElement]:
        return chrome.find_elements(By.CSS_SELECTOR, "#search-results li a")

    wait_until(links)
    target = str(links()[0].get_attribute("href"))
    return Path(re.split("[?#]", target)[0]).stem


class AccessibleTests(SynchronousTestCase):
    """Tests for the changes of what the theme writes."""

    def test_each_is_needed(self) -> None:
        """Each changes some page, and none is made twice."""
        self.patch(sys, "path", [str(DOCS), *sys.path])
        made = run_path(str(DOCS / "accessible.py"))
        pages = [path.read_text("utf-8") for path in built("html").rglob("*.html")]
        for written, better in made["CHANGES"]:
            self.assertTrue(any(better in page for page in pages), better)
            self.assertEqual(made["accessible"](made["accessible"](written)), better)


class SiteTests(SynchronousTestCase):
    """Tests for the site in a browser, from the disk, as the package has it."""

    def test_axe_and_search(self) -> None:
        """Axe finds nothing, wide and narrow; pages for users are found first."""
        html = built("html")
        with open_browser() as browser:
            auditor = Auditor(browser.chrome)
            found: dict[str, list[str]] = {}
            for page, windows in PAGES.items():
                browser.chrome.get((html / f"{page}.html").as_uri())
                for width, dark in windows:
                    auditor.resize(width, 1, dark=dark)
                    found[f"{page} {width}"] = auditor.violations()
            self.assertEqual({k: v for k, v in found.items() if v}, {})
            for word in SOUGHT:
                address = (html / "search.html").as_uri()
                browser.chrome.get(f"{address}?q={word}")
                self.assertIn(first_result(browser.chrome), FOR_USERS, word)
