"""Tests for bridge.settings.options."""

import contextlib
import io
import os
from pathlib import Path
from typing import ClassVar
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.settings.config import OPTIONS, ConfigError, read_config
from bridge.settings.host import SHIPPED
from bridge.settings.options import DaemonOptions, HostOptions, TableOptions, locate
from bridge.settings.values import Address
from bridge.tap import Options

from ..directories import fresh_directory


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
        """Parse what ends the process: its status, and what it prints."""
        printed = io.StringIO()
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
            ended = self.assertRaises(
                SystemExit, options().parseOptions, list(arguments)
            )
        return ended.code, printed.getvalue()

    def test_repeatable(self):
        """A repeatable option collects, a flag is true."""
        options = DaemonOptions()
        options.parseOptions(["--sink", "a", "--sink=b", "--dev"])
        self.assertEqual(options.given, {"sink": ["a", "b"], "dev": True})
        self.assertEqual(options.value("sink", {}), ("a", "b"))

    def test_naming(self):
        """Another command gets the theme directory, if one was named."""
        for more in ([], ["--theme-dir", "/themes"]):
            options = HostOptions()
            options.parseOptions(["--host=reference", "--data-dir=/data", *more])
            self.assertEqual(
                options.naming(options.paths()),
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
            status, printed = self.exits(*arguments)
            self.assertEqual(status, 2)
            self.assertIn(named, printed)
            self.assertTrue(
                printed.endswith("; see plugin-bridge run --help\n"), printed
            )
            self.assertEqual(printed.count("\n"), 1)

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
        """Wrong options and numbers of arguments are reported with the usage."""
        for line in (["a"], ["a", "b", "c"], ["a", "b", "--nonsense"]):
            status, printed = self.exits(*line, options=TwoArguments)
            self.assertEqual(status, 2)
            first, second = printed.splitlines()
            self.assertTrue(first.startswith("plugin-bridge: "), first)
            self.assertEqual(second, TwoArguments.synopsis)

    def test_version(self):
        """``--version`` is ours, not Twisted's."""
        status, printed = self.exits("--version")
        self.assertEqual(status, 0)
        self.assertRegex(printed, r"\Aplugin-bridge \d+\.\d+\.\d+\n\Z")

    def test_place(self):
        """Directories given win over the profile's."""
        options = HostOptions()
        options.parseOptions(["--host=reference", "--data-dir=/d"])
        paths = options.paths()
        self.assertEqual(paths.data.root, Path("/d"))
        self.assertEqual(paths.theme_dir, Path("/d/themes"))
        self.assertEqual(
            paths.bundle, Path("/d/themes/reference-host/reference-host.js")
        )

    def test_unknown_host(self):
        """A host that is no profile is a usage error that names the option."""
        missing = str(fresh_directory(self) / "none.toml")
        error = self.assertRaises(ConfigError, locate, missing, None, None)
        self.assertTrue(str(error).startswith("--host (or BRIDGE_HOST): "))


PROFILE = """
name = "mine"
application = "Mine"
theme_name = "mine"
bundle_name = "mine"
api_module = "@mine/api"
table_module = "@mine/table"
signature_domain = "mine"
info_author = "me"
permissions = []
[directories]
data = "{{home}}/mine"
theme = "{{data}}/themes"
[names]
variables = "MINE_"
[names.flags]
{flags}
"""


class NamesTests(SynchronousTestCase):
    """Tests for the names that a host's profile adds."""

    def setUp(self):
        """Begin with none of the variables set."""
        environ = {k: v for k, v in os.environ.items() if "BRIDGE_" not in k}
        self.patch(os, "environ", environ)

    def parsed(self, *words):
        """Parse the daemon's command line, and read it."""
        options = DaemonOptions()
        options.parseOptions(list(words))
        return read_config(options.given, os.environ, options.known)

    def refused(self, *words, options=DaemonOptions):
        """Parse what is refused; return the line."""
        printed = io.StringIO()
        with contextlib.redirect_stderr(printed):
            self.assertRaises(SystemExit, options().parseOptions, list(words))
        return printed.getvalue()

    def profile(self, flags):
        """Write a profile that names flags; return its path."""
        path = fresh_directory(self) / "mine.toml"
        path.write_text(PROFILE.format(flags=flags))
        return str(path)

    def test_flag(self):
        """A flag of the profile is the option it stands for; the last one wins."""
        for words in (["--wayvr-addr", "127.0.0.1:5"], ["--wayvr=127.0.0.1:5"]):
            self.assertEqual(self.parsed(*words).overlay_addr.port, 5)
        both = ["--wayvr-addr=127.0.0.1:5", "--overlay-addr=127.0.0.1:6"]
        self.assertEqual(self.parsed(*both).overlay_addr.port, 6)
        self.assertEqual(self.parsed(*reversed(both)).overlay_addr.port, 5)

    def test_original_names(self):
        """Everything the earlier daemon of VRCNext took is taken."""
        config = self.parsed(
            *("--listen", "127.0.0.1:1", "--sink", "wayvr", "--sink", "freedesktop"),
            *("--wayvr-addr", "127.0.0.1:2", "--data-dir", "/d", "--rate", "2.5"),
            *("--burst", "3", "--threads", "2", "--log", "debug", "--log-file", "/l"),
            *("--log-max-bytes", "5000", "--no-log-capture", "--dev"),
            *("--allow-origin", "http://a", "--print-token", "--build-plugins"),
        )
        self.assertEqual(config.sink, ("wayvr", "freedesktop"))
        self.assertEqual(config.overlay_addr.port, 2)

    def test_variables(self):
        """A variable of the profile is looked up after ours, and after the flag."""
        for name, text, attribute, value in (
            ("LISTEN", "127.0.0.1:7", "listen", Address("127.0.0.1", 7)),
            ("WAYVR_ADDR", "127.0.0.1:8", "overlay_addr", Address("127.0.0.1", 8)),
            ("DATA_DIR", "/d", "data_dir", Path("/d")),
            ("LOG", "warn", "log", "warn"),
            ("LOG_FILE", "/l", "log_file", Path("/l")),
            ("DEV", "true", "dev", True),
        ):
            os.environ[f"VRCNEXT_BRIDGE_{name}"] = text
            self.assertEqual(getattr(self.parsed(), attribute), value)
        os.environ["BRIDGE_OVERLAY_ADDR"] = "127.0.0.1:9"
        self.assertEqual(self.parsed().overlay_addr.port, 9)
        self.assertEqual(self.parsed("--wayvr-addr=[::1]:5").overlay_addr.port, 5)
        os.environ["BRIDGE_OVERLAY_ADDR"] = ""
        self.assertEqual(self.parsed().overlay_addr.port, 8)

    def test_another_host_has_none(self):
        """They are the profile's: wherever another host is named they are unknown."""
        os.environ["VRCNEXT_BRIDGE_LOG"] = "warn"
        self.assertEqual(self.parsed().log, "warn")
        for words in (
            ["--host", "reference"],
            ["--host=vrcnext", "--hos=reference"],
            ["--log-file", "--host=vrcnext", "--host", "reference"],
        ):
            self.assertEqual(self.parsed(*words).log, "info")
            self.assertIn("--wayvr-addr", self.refused(*words, "--wayvr-addr=[::1]:5"))
        os.environ["BRIDGE_HOST"] = "reference"
        self.assertEqual(self.parsed().log, "info")
        self.assertEqual(
            self.parsed("--host=vrcnext", "--wayvr-addr=[::1]:5").log, "warn"
        )

    def test_host_is_not_renamed(self):
        """Which profile is meant is known before any profile has been read."""
        os.environ["VRCNEXT_BRIDGE_HOST"] = "reference"
        self.assertEqual(self.parsed().host, "vrcnext")

    def test_refusals_use_the_name_that_was_typed(self):
        """A flag and a variable are named as their user knows them."""
        for words, environ, start in (
            (["--wayvr-addr=192.0.2.1:5"], {}, "--wayvr-addr: must"),
            (["--overlay-addr=192.0.2.1:5"], {}, "--overlay-addr: must"),
            ([], {"VRCNEXT_BRIDGE_WAYVR_ADDR": "x"}, "VRCNEXT_BRIDGE_WAYVR_ADDR: must"),
        ):
            with mock.patch.dict(os.environ, environ):
                error = self.assertRaises(ConfigError, self.parsed, *words)
            self.assertTrue(str(error).startswith(start), str(error))
        printed = self.refused("--wayvr-addr=127.0.0.1:0", options=Options)
        self.assertIn("--wayvr-addr: must have a port", printed)

    def test_only_where_the_option_is(self):
        """A command without the option has no other name for it either."""
        self.assertIn(
            "--wayvr-addr", self.refused("--wayvr-addr=x", options=HostOptions)
        )
        os.environ["VRCNEXT_BRIDGE_DATA_DIR"] = "/d"
        options = HostOptions()
        options.parseOptions([])
        self.assertEqual(options.paths().data.root, Path("/d"))

    def test_help(self):
        """``--help`` has the flags of the host it is asked with."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.assertRaises(SystemExit, DaemonOptions().parseOptions, ["--help"])
        self.assertIn("--wayvr-addr means --overlay-addr.\n", printed.getvalue())

    def test_a_profile_of_somebody_s_own(self):
        """Flags without a value work, too."""
        path = self.profile('debug = "dev"')
        os.environ["MINE_DEBUG"] = "1"
        self.assertTrue(self.parsed(f"--host={path}").dev)
        self.assertTrue(self.parsed("--debug", "--host", path).dev)

    def test_flags_that_stand_for_nothing(self):
        """A profile whose flags name no option, or the host, or hide one, is bad."""
        for flags in ('a-flag = "nothing"', 'a-flag = "host"', 'rate = "burst"'):
            path = self.profile(flags)
            error = self.assertRaises(ConfigError, locate, path, None, None)
            self.assertIn("names.flags", str(error))
        for name in SHIPPED:
            locate(name, None, None)
