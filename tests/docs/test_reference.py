"""Tests for docs/generate.py."""

import sys
from pathlib import Path
from runpy import run_path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

DOCS = Path(__file__).parents[2] / "docs"


class ReferenceTests(SynchronousTestCase):
    """Tests for what the committed pages have from the code."""

    def made(self) -> dict[str, Any]:
        """Run the script, as far as it goes when it is imported."""
        self.patch(sys, "path", [str(DOCS), *sys.path])
        return run_path(str(DOCS / "generate.py"))

    def test_is_current(self):
        """
        Every page is what the code would generate now; when it is not, run
        ``python docs/generate.py`` and commit the result.
        """
        made = self.made()
        for page in made["PAGES"]:
            held = (DOCS / "reference" / page).read_text("utf-8")
            self.assertEqual(made["render"](page), held, page)

    def test_shipped(self):
        """So is what ships: the schemas, and the client's types."""
        made = self.made()
        for path, text in made["shipped"]():
            self.assertEqual(text, path.read_text("utf-8"), path)

    def test_no_stale_schema(self):
        """There is no schema that nothing generates."""
        made = self.made()
        names = {path.name for path, _ in made["shipped"]()}
        held = {path.name for path in made["SCHEMAS"].glob("*.json")}
        self.assertLessEqual(held, names)

    def test_nothing_stale(self):
        """There is no page that nothing generates."""
        made = self.made()
        held = {path.name for path in (DOCS / "reference").iterdir()}
        self.assertEqual(held, set(made["PAGES"]))

    def test_parts(self):
        """So is every generated part of the other pages, and it is not empty."""
        made = self.made()
        pages = made["pages"](DOCS)
        self.assertTrue(pages)
        for page in pages:
            held = page.read_text("utf-8")
            self.assertEqual(made["filled"](held), held, page)
            # What has no words would be documented as a full stop.
            self.assertNotIn("\n: .\n", held, page)
