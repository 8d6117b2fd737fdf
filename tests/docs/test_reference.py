"""Tests for docs/generate.py."""

from pathlib import Path
from runpy import run_path

from twisted.trial.unittest import SynchronousTestCase

DOCS = Path(__file__).parents[2] / "docs"


class ReferenceTests(SynchronousTestCase):
    """Tests for the committed reference."""

    def test_is_current(self):
        """
        Every page is what the code would generate now; when it is not, run
        ``python docs/generate.py`` and commit the result.
        """
        made = run_path(str(DOCS / "generate.py"))
        for page in made["PAGES"]:
            held = (DOCS / "reference" / page).read_text("utf-8")
            self.assertEqual(made["render"](page), held, page)

    def test_nothing_stale(self):
        """There is no page that nothing generates."""
        made = run_path(str(DOCS / "generate.py"))
        held = {path.name for path in (DOCS / "reference").iterdir()}
        self.assertEqual(held, set(made["PAGES"]))
