"""Tests for bridge.options."""

import contextlib
import io
from pathlib import Path
from typing import ClassVar

from twisted.trial.unittest import SynchronousTestCase

from bridge.config import OPTIONS, ConfigError
from bridge.options import DaemonOptions, HostOptions, TableOptions, locate

from .directories import fresh_directory


class TwoArguments(TableOptions):
    """A command line with two arguments."""

    synopsis = "Usage: two [--json] [--number N] A B"
    optFlags: ClassVar = [["json", None, "a flag"]]
    optParameters: ClassVar = [["number", "n", None, "a value"]]

    def parseArgs(self, first, second):  # type: ignore[override]
        """Take both."""
        self["taken"] = (first, second)


class OptionsTests(SynchronousTestCase):
    """Tests for command lines made from the table."""

    def exits(self, *arguments, options=DaemonOptions):
        """Parse what ends the process: its status, and what it says."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            ended = self.assertRaises(
                SystemExit, options().parseOptions, list(arguments)
            )
        return ended.code, said.getvalue()

    def test_repeatable(self):
        """A repeatable option collects, a flag is true."""
        options = DaemonOptions()
        options.parseOptions(["--sink", "a", "--sink=b", "--dev"])
        self.assertEqual(options.given, {"sink": ["a", "b"], "dev": True})
        self.assertEqual(options.value("sink", {}), ("a", "b"))

    def test_naming(self):
        """Another command is told of the theme directory, if one was named."""
        for more in ([], ["--theme-dir", "/themes"]):
            options = HostOptions()
            options.parseOptions(["--host=reference", "--data-dir=/data", *more])
            self.assertEqual(
                options.naming(options.place()),
                ["--host", "reference", "--data-dir", "/data", *more],
            )

    def test_help_names_every_option_and_variable(self):
        """``--help`` has each option, its variable and the exit statuses."""
        text = str(DaemonOptions())
        for option in OPTIONS:
            self.assertIn(f"--{option.name}", text)
        flat = "".join(text.split())
        for option in OPTIONS:
            self.assertIn(f"[{option.variable}]", flat)
        self.assertIn("Exitstatus:0", flat)

    def test_usage_errors(self):
        """What is not known, or lacks a value, ends with status 2 and is named."""
        for arguments, named in (
            (["--nonsense"], "--nonsense"),
            (["--rate"], "--rate"),
            (["extra"], "arguments"),
        ):
            status, said = self.exits(*arguments)
            self.assertEqual(status, 2)
            self.assertIn(named, said)
            self.assertTrue(said.endswith("; see plugin-bridge run --help\n"), said)
            self.assertEqual(said.count("\n"), 1)

    def test_short_help(self):
        """``-h`` is what people try first."""
        for options in (DaemonOptions, TwoArguments):
            long = self.exits("--help", options=options)
            self.assertEqual(self.exits("-h", options=options), long)
            self.assertEqual(long[0], 0)

    def test_options_after_arguments(self):
        """An option may follow an argument; after ``--`` everything is an argument."""
        for line, expected in (
            (("a", "--json", "-nx", "b"), (True, "x", ("a", "b"))),
            (("a", "--number=--json", "-", "--js"), (True, "--json", ("a", "-"))),
            (("--number", "", "a", "b"), (False, "", ("a", "b"))),
            (("a", "--", "--json"), (False, None, ("a", "--json"))),
        ):
            options = TwoArguments()
            options.parseOptions(line)
            taken = (bool(options["json"]), options["number"], options["taken"])
            self.assertEqual(taken, expected, line)

    def test_wrong_arguments(self):
        """Too few or many arguments, and a wrong option, are told with the usage."""
        for line in (["a"], ["a", "b", "c"], ["a", "b", "--nonsense"]):
            status, said = self.exits(*line, options=TwoArguments)
            self.assertEqual(status, 2)
            first, second = said.splitlines()
            self.assertTrue(first.startswith("plugin-bridge: "), first)
            self.assertEqual(second, TwoArguments.synopsis)

    def test_version(self):
        """``--version`` is ours, not Twisted's."""
        status, said = self.exits("--version")
        self.assertEqual(status, 0)
        self.assertRegex(said, r"\Aplugin-bridge \d+\.\d+\.\d+\n\Z")

    def test_place(self):
        """Directories given win over the profile's."""
        options = HostOptions()
        options.parseOptions(["--host=reference", "--data-dir=/d"])
        place = options.place()
        self.assertEqual(place.data.root, Path("/d"))
        self.assertEqual(place.theme_dir, Path("/d/themes"))
        self.assertEqual(
            place.bundle, Path("/d/themes/reference-host/reference-host.js")
        )

    def test_unknown_host(self):
        """A host that is no profile is a usage error that names the option."""
        missing = str(fresh_directory(self) / "none.toml")
        error = self.assertRaises(ConfigError, locate, missing, None, None)
        self.assertTrue(str(error).startswith("--host (or BRIDGE_HOST): "))
