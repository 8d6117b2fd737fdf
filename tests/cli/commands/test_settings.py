"""Tests for bridge.cli.commands.settings."""

import contextlib
import io
import tomllib

from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.commands.settings import main


class ConfigTests(SynchronousTestCase):
    """Tests for what it prints."""

    def test_toml(self):
        """The lines are TOML in ASCII, whatever characters a value has."""
        path = '/some/\U0001d11e \u00e9 \\ "x"\x7f'
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = main(["--data-dir", path, "--dev", "--sink", "overlay"])
        self.assertEqual(status, 0)
        self.assertTrue(printed.getvalue().isascii())
        values = tomllib.loads(printed.getvalue())
        self.assertEqual(values["data-dir"], path)
        self.assertIs(values["dev"], True)
        self.assertEqual(values["sink"], ["overlay"])
        self.assertIsInstance(values["burst"], int)
