import json
import os
import tomllib
from unittest import mock

from ..commandcase import CommandTestCase


class ConfigTests(CommandTestCase):
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
        unset = "\n# sink is not set: overlay and freedesktop\n"
        self.assertIn(unset, self.done(self.run_main("config")))

    def test_origins(self):
        """Values have their origins; a wrong key ends a start with 2 and a hint."""
        file = self.root / "plugin-bridge" / "config.toml"
        file.parent.mkdir()
        file.write_text('host = "reference"\nrate = 8\nburst = 70\nthreads = 2\n')
        more = {"BRIDGE_BURST": "71", "BRIDGE_THREADS": "3"}
        with mock.patch.dict(os.environ, XDG_CONFIG_HOME=str(self.root), **more):
            printed = json.loads(self.run_main("config", "--threads=5", "--json")[1])
            file.write_text("rat = 8\n")
            wrong = self.run_main("run")
        self.assertEqual(printed["file"], str(file))
        for name, value, origin in (
            ("host", "reference", "config.toml"),
            ("rate", 8.0, "config.toml"),
            ("burst", 71, "BRIDGE_BURST"),
            ("threads", 5, "--threads"),
            ("log", "info", "default"),
        ):
            found = printed["options"][name]
            self.assertEqual(found, {"value": value, "origin": origin})
        self.assert_fails("rat: unknown option; did you mean rate?", wrong, 2)
