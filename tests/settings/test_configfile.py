"""The user's configuration file."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import CONFIG_FILE_BYTES
from bridge.settings.config import BY_NAME, OPTIONS, origin_of, read_config, read_value
from bridge.settings.configfile import ConfigError, config_path, read_file
from bridge.settings.options import DaemonOptions

from ..directories import fresh_directory, planted

FLAGS = {option.name: option.value is None for option in OPTIONS}


class FileTests(SynchronousTestCase):
    """Tests for ``read_file``, and for what options make of it."""

    def setUp(self):
        """Choose a path."""
        self.path = fresh_directory(self) / "config.toml"

    def read(self, text):
        """Read a text as the file."""
        self.path.write_text(text, "utf-8")
        return read_file(self.path, FLAGS)

    def refused(self, text):
        """Read a text that is refused; gives the message."""
        return str(self.assertRaises(ConfigError, self.read, text))

    def test_missing(self):
        """Without a file everything has its default."""
        file = read_file(self.path, FLAGS)
        self.assertEqual(read_config({}, {}, file=file), read_config({}, {}))

    def test_precedence(self):
        """Flag over variable over file over default, for each kind of option."""
        file = self.read('threads = 2\ndev = true\nsink = ["a", "b,c"]\n')
        config = read_config({}, {}, file=file)
        self.assertEqual(
            (config.threads, config.dev, config.sink), (2, True, ("a", "b,c"))
        )
        environ = {"BRIDGE_THREADS": "3", "BRIDGE_DEV": "0", "BRIDGE_SINK": "x"}
        config = read_config({}, environ, file=file)
        self.assertEqual((config.threads, config.dev, config.sink), (3, False, ("x",)))
        config = read_config({"threads": ["4"]}, environ, file=file)
        self.assertEqual(config.threads, 4)
        self.assertEqual(config.burst, 10)

    def test_unknown_key(self):
        """It is refused with its line and the nearest name, and is not repeated."""
        message = self.refused("# mine\n\nrate = 2\ntreads = 3\n")
        self.assertEqual(
            message,
            f"{self.path}, line 4: unknown option; did you mean threads?",
        )
        far = self.refused("[zzqq]\nx = 1\n")
        self.assertEqual(far, f"{self.path}, line 1: unknown option")

    def test_bad_values(self):
        """Each names the line and the rule, never the value."""
        for text, rule in (
            ("dev = 1\n", "line 1: dev: must be true or false"),
            ("\nrate = {a = 1}\n", "line 2: rate: must be a string, a number or"),
            (
                "rotate-token = true\n",
                "rotate-token is for the command line and variables",
            ),
            ("rate =\n", "not TOML: at line 1"),
        ):
            self.assertIn(rule, self.refused(text))
        file = self.read('\nlisten = "10.0.0.1:1"\n')
        error = self.assertRaises(ConfigError, read_config, {}, {}, file=file)
        self.assertIn(
            "line 2: listen: must be ADDRESS:PORT with a loopback", str(error)
        )
        self.assertNotIn("10.0.0.1", str(error))
        file = self.read('log = ["info", "warn"]\n')
        error = self.assertRaises(ConfigError, read_config, {}, {}, file=file)
        self.assertIn("log: must be one value", str(error))

    def test_origin(self):
        """The origin is the file only where nothing overrides it."""
        file = self.read("rate = 2\n")
        rate = BY_NAME["rate"]
        self.assertEqual(origin_of(rate, {}, {}, file), f"{self.path}, line 1: rate")
        self.assertEqual(origin_of(rate, {}, {"BRIDGE_RATE": "1"}, file), "BRIDGE_RATE")
        self.assertEqual(origin_of(rate, {"rate": ["1"]}, {}, file), "--rate")

    def test_attack_file_of_another_user(self):
        """A file that another user may have written could switch on ``--dev``."""
        self.path.write_text("dev = true\n")
        planted(self, self.path)
        error = self.assertRaises(ConfigError, read_file, self.path, FLAGS)
        self.assertIn("is not used", str(error))

    def test_attack_endless_file(self):
        """A file that is too large, a pipe's or a directory's is refused."""
        self.assertIn("at most", self.refused("#" * (CONFIG_FILE_BYTES + 1)))
        for make in (self.path.mkdir, lambda: os.mkfifo(self.path)):
            self.path.unlink()
            make()
            error = self.assertRaises(ConfigError, read_file, self.path, FLAGS)
            self.assertIn("must be a regular file", str(error))
            if self.path.is_dir():
                self.path.rmdir()
                self.path.touch()

    @given(st.text())
    def test_any_text(self, text):
        """Whatever it contains, it is read or refused."""
        path = self.path.with_name("any.toml")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            file = read_file(path, FLAGS)
            read_value(BY_NAME["rate"], {}, {}, file)
        except ConfigError as e:
            self.assertIn(str(path), str(e))

    def test_place(self):
        """It is in the user's configuration directory."""
        self.patch(os, "environ", {**os.environ, "XDG_CONFIG_HOME": "/xdg"})
        self.assertEqual(str(config_path()), "/xdg/plugin-bridge/config.toml")

    def test_every_command_line(self):
        """The command line of the daemon reads it; the host's names come from it."""
        folder = self.path.parent / "plugin-bridge"
        folder.mkdir()
        (folder / "config.toml").write_text('host = "reference"\nrate = 7\n')
        self.patch(
            os, "environ", {**os.environ, "XDG_CONFIG_HOME": str(self.path.parent)}
        )
        options = DaemonOptions()
        options.parseOptions([])
        self.assertEqual(options.value("host"), "reference")
        self.assertEqual(options.value("rate"), 7.0)
