"""The Python client in the docs, run against a real daemon."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from twisted.trial.unittest import SynchronousTestCase

import bridge

from ..docs.commands import fences
from ..npm import ROOT
from ..whole.daemon import environment, run
from ..whole.test_install import InstallCase, tree

LINES = 60


def program() -> str:
    """Return the client of the page."""
    (text,) = (
        t for kind, t in fences(ROOT / "docs" / "clients.md") if kind == "python"
    )
    return text


class TextTests(SynchronousTestCase):
    """Tests for the program as it is printed."""

    def test_short(self) -> None:
        """It fits on a page of the docs, and is formatted as our own code."""
        text = program()
        self.assertLessEqual(len(text.splitlines()), LINES)
        options = ("format", "--no-cache", "--check", "--stdin-filename=client.py", "-")
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *options],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class ProgramTests(InstallCase):
    """Tests for what the program prints."""

    @contextmanager
    def printing(self) -> Iterator[subprocess.Popen[str]]:
        """Run the program until the block ends."""
        file = self.home / "client.py"
        file.write_text(program(), "utf-8")
        process = subprocess.Popen(
            [sys.executable, str(file), str(self.data)],
            env=environment(self.home),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()

    def expect(self, process: subprocess.Popen[str], beginning: str) -> str:
        """Read its output until a line begins so; return the line."""
        assert process.stdout is not None
        seen = []
        for line in process.stdout:
            if line.startswith(beginning):
                return line
            seen.append(line)
        raise AssertionError(f"{beginning}: not in {seen}")

    def test_program(self) -> None:
        """It lists plugins, prints events, connects again, and ends when unpaired."""
        url = self.publish("good", tree("good"))
        with self.printing() as printing:
            self.expect(printing, "no connection: ")
            with self.daemon("--dev") as daemon, daemon.page() as page:
                greeting = f"connected to version {bridge.__version__}"
                self.expect(printing, greeting)
                page.result("plugins", "install", {"url": url})
                self.expect(printing, 'progress {"op": "install"')
                self.assertIn('"ok": true', self.expect(printing, "build {"))
            with self.daemon("--dev"):
                self.expect(printing, greeting)
                self.expect(printing, "plugin good 1.0.0")
                done = run(
                    self.home, "run", f"--data-dir={self.data}", "--rotate-token"
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                self.expect(printing, "pair again: token_rotated")
                self.assertEqual(printing.wait(), 1)
