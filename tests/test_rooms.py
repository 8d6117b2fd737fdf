"""Tests for the shape of the code base."""

import ast
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

BRIDGE = Path(__file__).parents[1] / "bridge"


class ModuleTests(SynchronousTestCase):
    """Tests for every module."""

    def test_documented(self):
        """Each has a docstring."""
        for path in sorted(BRIDGE.rglob("*.py")):
            text = path.read_text("utf-8")
            self.assertTrue(ast.get_docstring(ast.parse(text)), path)
