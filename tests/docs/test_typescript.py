"""Tests for docs/typescript.py."""

from __future__ import annotations

import sys
from pathlib import Path
from runpy import run_path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

DOCS = Path(__file__).parents[2] / "docs"


class WriterTests(SynchronousTestCase):
    """Tests for types of schemas."""

    def made(self) -> dict[str, Any]:
        """Run the module."""
        self.patch(sys, "path", [str(DOCS), *sys.path])
        return run_path(str(DOCS / "typescript.py"))

    def test_unknown_keyword(self) -> None:
        """A keyword that nobody has decided about is an error, not left out."""
        made = self.made()
        for schema in (
            {"type": "string", "contentEncoding": "base64"},
            {"type": "object", "properties": {"a": {"oneOf": []}}},
        ):
            with self.assertRaises(made["UnknownKeywordError"]):
                made["Writer"]().type_of(schema)
