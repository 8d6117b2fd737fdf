"""The Python client in the docs, run against a real daemon."""

import re
import sys

from twisted.trial.unittest import SynchronousTestCase

import bridge

from .. import programs
from ..docs.commands import fences
from ..e2e.daemon import printing
from ..e2e.test_install import InstallCase, tree
from ..npm import ROOT

LINES = 60


def program() -> str:
    """Return the client of the page."""
    (text,) = (
        t for kind, t in fences(ROOT / "docs" / "clients.md") if kind == "python"
    )
    return text


class TextTests(SynchronousTestCase):
    def test_short(self) -> None:
        """It fits on a page of the docs, and is formatted as our own code."""
        text = program()
        self.assertLessEqual(len(text.splitlines()), LINES)
        options = ("format", "--no-cache", "--check", "--stdin-filename=client.py", "-")
        done = programs.run(
            sys.executable, "-m", "ruff", *options, input=text, cwd=ROOT
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class ProgramTests(InstallCase):
    def test_program(self) -> None:
        """It lists plugins, prints events, connects again, and ends when unpaired."""
        url = self.publish("good", tree("good"))
        file = self.home / "client.py"
        file.write_text(program(), "utf-8")
        line = [sys.executable, "-u", str(file), str(self.data)]
        with printing(line, self.home) as client:
            client.wait_for("^no connection: ")
            with self.daemon("--dev") as daemon, daemon.page() as page:
                greeting = f"^connected to version {re.escape(bridge.__version__)}"
                client.wait_for(greeting)
                page.result("plugins", "install", {"url": url})
                client.wait_for('^progress {"op": "install"')
                client.wait_for('^build {.*"ok": true')
            with self.daemon("--dev") as daemon:
                client.wait_for(greeting)
                client.wait_for("^plugin good 1.0.0")
                daemon.rotate_token(self.home)
                client.wait_for("^pair again: token_rotated")
                self.assertEqual(client.wait(), 1)
