"""What reads the code without running it: types, style, and who imports whom."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from twisted.trial.unittest import SynchronousTestCase

ROOT: Final = Path(__file__).parents[1]


class CheckTests(SynchronousTestCase):
    """Tests for the sources."""

    def check(self, name: str, *arguments: str) -> None:
        """Run a program of this environment, which must find nothing."""
        done = subprocess.run(
            [Path(sys.executable).with_name(name), *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_types(self) -> None:
        """The types are right."""
        self.check("mypy")

    def test_style(self) -> None:
        """The code keeps the rules, and is formatted."""
        self.check("ruff", "check", "--no-cache", ".")
        self.check("ruff", "format", "--no-cache", "--check", ".")

    def test_layers(self) -> None:
        """Packages import only downward."""
        self.check("lint-imports")
