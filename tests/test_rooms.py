"""Tests for the shape of the code base."""

import ast
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

BRIDGE = Path(__file__).parents[1] / "bridge"
MOST_LINES = 300


class ModuleTests(SynchronousTestCase):
    """Tests for every module."""

    def test_fits_in_the_head(self):
        """No module is longer than 300 lines, and each says what it is for."""
        for path in sorted(BRIDGE.rglob("*.py")):
            text = path.read_text("utf-8")
            self.assertLessEqual(text.count("\n"), MOST_LINES, path)
            self.assertTrue(ast.get_docstring(ast.parse(text)), path)
