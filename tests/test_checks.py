"""What reads the code without running it: types, style, and who imports whom."""

from twisted.trial.unittest import SynchronousTestCase

from .programs import python


class CheckTests(SynchronousTestCase):
    """Tests for the sources."""

    def check(self, *arguments: str) -> None:
        """Run a program of this environment, which must find nothing."""
        done = python("-m", *arguments)
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
        self.check("importlinter.cli", "lint-imports")
