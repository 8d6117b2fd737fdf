"""The progress of an operation."""

from __future__ import annotations

import io
import os
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.session import ProgressLine


def step(name: str, message: str) -> dict[str, str]:
    """Make the data of an event."""
    return {"step": name, "message": message}


class ProgressTests(SynchronousTestCase):
    """Tests for ``ProgressLine``."""

    def shown(self, terminal: bool, *steps: dict[str, str], colour: bool = False):
        """Show steps; gives what was written."""
        out = io.StringIO()
        line = ProgressLine(out, terminal, colour)
        for data in steps:
            line.report(data)
        line.end()
        return out.getvalue()

    def test_lines(self):
        """Without a terminal each message is a line, once, without escapes."""
        clone = step("clone", "Cloning\x1b[31m")
        text = self.shown(False, clone, clone, step("build", "Building"))
        self.assertEqual(text, "Cloning\nBuilding\n")

    def test_bar(self):
        """On a terminal a bar grows, never shrinks, and is removed at the end."""
        text = self.shown(True, step("clone", "a"), step("build", "b"))
        first, second, last = text.split("\r\x1b[K")[1:]
        self.assertLess(first.count("#"), second.count("#"))
        self.assertEqual(second, f"[{'#' * 20}] b")
        self.assertEqual(last, "")
        back = self.shown(True, step("build", "b"), step("clone", "a"))
        self.assertEqual(back.count("#"), 40)

    def test_colour(self):
        """Colours only when the terminal takes them."""
        self.assertIn("\x1b[32m", self.shown(True, step("move", "m"), colour=True))
        self.assertNotIn("\x1b[32m", self.shown(True, step("move", "m")))

    def test_narrow(self):
        """A message never wraps: the bar could not be written over."""
        with mock.patch.dict(os.environ, {"COLUMNS": "40", "LINES": "10"}):
            text = self.shown(True, step("clone", "x" * 200))
        self.assertLessEqual(max(map(len, text.split("\r\x1b[K"))), 40)

    def test_prompt(self):
        """A prompt asks the user to look at the desktop."""
        text = self.shown(False, step("awaiting_confirmation", "Asking"))
        self.assertEqual(text, "Asking. Answer the prompt on your desktop.\n")
        out = io.StringIO()
        line = ProgressLine(out, False, prompts=False)
        line.report(step("awaiting_confirmation", "Asking"))
        self.assertEqual(out.getvalue(), "Asking\n")
