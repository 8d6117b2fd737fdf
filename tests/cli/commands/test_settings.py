"""Tests for bridge.cli.commands.settings."""

import tomllib

from ..commandcase import CommandTestCase


class ConfigTests(CommandTestCase):
    """Tests for what it prints."""

    def test_toml(self):
        """The lines are TOML in ASCII, whatever characters a value has."""
        path = '/some/\U0001d11e \u00e9 \\ "x"\x7f'
        words = ("--data-dir", path, "--dev", "--sink", "overlay")
        printed = self.done(self.run_main("config", *words))
        self.assertTrue(printed.isascii())
        values = tomllib.loads(printed)
        self.assertEqual(values["data-dir"], path)
        self.assertIs(values["dev"], True)
        self.assertEqual(values["sink"], ["overlay"])
        self.assertIsInstance(values["burst"], int)
