"""Tests for bridge.wiring.installation."""

import os

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.errors import BridgeError, Code
from bridge.wiring.installation import Installation
from tests.directories import fresh_directory


class InstallationTests(SynchronousTestCase):
    """Tests for Installation."""

    def setUp(self):
        """Install a file."""
        self.path = fresh_directory(self) / "__init__.py"
        self.path.write_text("1")
        self.installation = Installation.current(str(self.path))

    def refused(self):
        """Assert that nothing more is to be loaded."""
        error = self.assertRaises(BridgeError, self.installation.check)
        self.assertEqual(error.code, Code.UNAVAILABLE)
        self.assertIn("restart", error.message)

    def test_unchanged(self):
        """The same files may be loaded from."""
        self.installation.check()
        Installation.current().check()

    def test_replaced(self):
        """A file of another release, put in its place, is noticed."""
        other = self.path.with_name("new")
        other.write_text("2")
        os.utime(other, ns=(0, self.path.stat().st_mtime_ns))
        other.rename(self.path)
        self.refused()

    def test_removed(self):
        """So is a release that was removed."""
        self.path.unlink()
        self.refused()

    def test_zipped(self):
        """Where the package is no file, nothing is noticed."""
        Installation.current(str(self.path / "no" / "file")).check()
