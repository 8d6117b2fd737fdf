"""Tests for the site."""

from __future__ import annotations

import re

from twisted.trial.unittest import SynchronousTestCase

from .building import DOCS, built


class SiteTests(SynchronousTestCase):
    """Tests for what Sphinx makes of docs."""

    def test_no_warning(self) -> None:
        """It is built without one: no dead link, no page that nothing leads to."""
        made = built("html")
        for page in DOCS.rglob("*.md"):
            name = page.relative_to(DOCS).with_suffix(".html")
            self.assertTrue((made / name).exists(), name)

    def test_nothing_foreign(self) -> None:
        """No page loads anything from elsewhere."""
        for page in built("html").rglob("*.html"):
            text = page.read_text("utf-8")
            loaded = re.findall(
                r"<(?:link|script|img)\b[^>]*\b(?:href|src)=\"([^\"]+)", text
            )
            self.assertTrue(loaded)
            self.assertEqual([at for at in loaded if "//" in at], [], page)
