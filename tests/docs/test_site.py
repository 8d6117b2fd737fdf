import re

from twisted.trial.unittest import SynchronousTestCase

from ..npm import ROOT
from .building import DOCS, built

_FENCE = re.compile(r"```.*?```", re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:|#)([^)\s#]+)(?:#([^)\s]+))?\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


class SiteTests(SynchronousTestCase):
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


class ForgeTests(SynchronousTestCase):
    """Tests for the pages as a forge shows them: without what is built."""

    def test_links(self) -> None:
        """Every link leads to a file of the sources, and to a heading in it."""
        for page in (*ROOT.glob("*.md"), *DOCS.rglob("*.md")):
            for path, anchor in _LINK.findall(_FENCE.sub("", page.read_text("utf-8"))):
                target = page.parent / path
                self.assertTrue(target.exists(), f"{page}: {path}")
                if anchor:
                    # As forges name headings.
                    titles = _HEADING.findall(target.read_text("utf-8").lower())
                    found = (re.sub(r"[^\w\- ]", "", one).strip() for one in titles)
                    named = {one.replace(" ", "-") for one in found}
                    self.assertIn(anchor, named, f"{page}: {path}")

    def test_found(self) -> None:
        """Links lead from README to every page, as no forge shows the site's lists."""
        found = [ROOT / "README.md"]
        for page in found:
            for path, _ in _LINK.findall(_FENCE.sub("", page.read_text("utf-8"))):
                target = (page.parent / path).resolve()
                if target.suffix == ".md" and target not in found:
                    found.append(target)
        pages = {*DOCS.glob("*.md"), *DOCS.glob("man/*.md")}
        self.assertEqual(pages - {DOCS / "changes.md"} - set(found), set())
