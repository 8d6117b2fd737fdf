"""The user's configuration file; test_options tests what options make of it."""

import os

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import CONFIG_FILE_BYTES
from bridge.settings.config import ConfigError, read_file

from ..directories import fresh_directory, planted


class FileTests(SynchronousTestCase):
    def setUp(self):
        self.path = fresh_directory(self) / "config.toml"

    def refused(self, text):
        """Read a text that is refused; gives the message."""
        self.path.write_text(text, "utf-8")
        return str(self.assertRaises(ConfigError, read_file, self.path))

    def test_refused(self):
        """A refusal names the file, the key and the rule, never the value."""
        for text, rule in (
            ("rate = 2\ntreads = 3\n", "treads: unknown option; did you mean threads?"),
            ("[zzqq]\nx = 1\n", "zzqq: unknown option"),
            ("dev = 1\n", "dev: must be true or false"),
            (
                "rate = {a = 1}\n",
                "rate: must be a string, a number or a list of strings",
            ),
            ("rate = true\n", "rate: must be a string, a number or a list of strings"),
            ('log = ["info", "warn"]\n', "log: must be one value"),
            (
                "rotate-token = true\n",
                "rotate-token: is for the command line and variables",
            ),
            ('data-dir = "zzqq"\n', "data-dir: must be an absolute path"),
            (
                'host = "zzqq"\n',
                "host: must be vrcnext or reference or an absolute path",
            ),
            ("rate =\n", "not TOML: at line 1, column 7"),
        ):
            self.assertEqual(self.refused(text), f"{self.path}: {rule}")

    def test_byte_order_mark(self):
        """It is no part of the first key."""
        self.path.write_text("rate = 2\n", "utf-8-sig")
        self.assertEqual(read_file(self.path), {"rate": "2"})

    def test_not_utf8(self):
        """Bytes that are no text are refused like text that is no TOML."""
        self.path.write_bytes(b"\xff")
        error = self.assertRaises(ConfigError, read_file, self.path)
        self.assertEqual(str(error), f"{self.path}: must be UTF-8")

    def test_attack_file_of_another_user(self):
        """A file that another user may have written could switch on ``--dev``."""
        self.path.write_text("dev = true\n")
        planted(self, self.path)
        error = self.assertRaises(ConfigError, read_file, self.path)
        self.assertRegex(str(error), f"^{self.path} .* is not used")

    def test_attack_endless_file(self):
        """A file that is too large, a pipe's or a directory's is refused."""
        self.assertIn("at most", self.refused("#" * (CONFIG_FILE_BYTES + 1)))
        pipe = self.path.with_name("pipe")
        os.mkfifo(pipe)
        for path in (pipe, pipe.parent):
            error = self.assertRaises(ConfigError, read_file, path)
            self.assertIn("cannot be read: not a regular file", str(error))
