"""Tests for bridge.settings.options and bridge.settings.config."""

import contextlib
import io
import os
from pathlib import Path
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.settings.config import OPTIONS, SHIPPED, Config, ConfigError
from bridge.settings.host import locate
from bridge.settings.options import config_of, daemon_command, parsed
from bridge.settings.values import Address
from bridge.tap import Options
from bridge.wiring.services import SINKS

from ..directories import closed_below, fresh_directory
from .test_host import GOOD

# What an environment can hold.
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


class CommandLines(SynchronousTestCase):
    """Parses command lines, with a configuration file and variables of its own."""

    def setUp(self) -> None:
        """Begin with none of the variables set, and without a file."""
        self.folder = fresh_directory(self)
        environ = {k: v for k, v in os.environ.items() if "BRIDGE_" not in k}
        self.patch(os, "environ", {**environ, "XDG_CONFIG_HOME": str(self.folder)})
        (self.folder / "plugin-bridge").mkdir()
        self.file = self.folder / "plugin-bridge" / "config.toml"

    def config(self, *words: str, **environ: str) -> Config:
        with mock.patch.dict(os.environ, environ):
            return config_of(daemon_command().make_context("run", list(words)))

    def refusal(self, *words: str, **environ: str) -> str:
        """Parse what is refused; return the message."""
        return str(self.assertRaises(ConfigError, self.config, *words, **environ))

    def exits(self, *words: str) -> tuple[object, str]:
        """Parse what ends the process: its status, and what it prints."""
        printed = io.StringIO()
        made = daemon_command()
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
            ended = self.assertRaises(SystemExit, parsed, made, words, "x run")
        return ended.code, printed.getvalue()


class ValuesTests(CommandLines):
    def test_defaults(self) -> None:
        """What nobody sets is as in the specification's table."""
        config = self.config()
        self.assertEqual(config.listen, Address("127.0.0.1", 42081))
        self.assertEqual(config.overlay_addr, Address("127.0.0.1", 42069))
        self.assertEqual((config.rate, config.burst, config.threads), (5.0, 10, 4))
        self.assertEqual(
            (config.log, config.dev, config.host), ("info", False, "vrcnext")
        )
        self.assertEqual((config.sink, config.allow_origin), ((), ()))
        self.assertIsNone(config.data_dir)

    def test_every_option_has_a_variable(self) -> None:
        """Each option is read from BRIDGE_ and its name in capitals."""
        tried = (
            ("listen", "[::1]:9", Address("::1", 9)),
            ("host", "~/p.toml", str(Path.home() / "p.toml")),
            ("sink", "overlay,freedesktop,overlay", ("overlay", "freedesktop")),
            ("overlay-addr", "localhost:1", Address("127.0.0.1", 1)),
            ("data-dir", "/d", Path("/d")),
            ("theme-dir", "/t", Path("/t")),
            ("rate", "2.5", 2.5),
            ("burst", "3", 3),
            ("threads", "2", 2),
            ("log", "debug", "debug"),
            ("log-format", "json", "json"),
            ("log-file", "/l", Path("/l")),
            ("log-max-bytes", "5000", 5000),
            ("no-log-capture", "1", True),
            ("allow-origin", "Http://A:80,App://A:80", ("http://a", "app://A:80")),
            ("ca-file", __file__, Path(__file__)),
            ("public-clones-only", "yes", True),
            ("dev", "true", True),
            ("print-token", "on", True),
            ("rotate-token", "1", True),
            ("build-plugins", "1", True),
        )
        for (option, text, value), known in zip(tried, OPTIONS, strict=True):
            self.assertEqual(option, known.name)
            attribute = option.replace("-", "_")
            config = self.config(**{f"BRIDGE_{attribute.upper()}": text})
            self.assertEqual(getattr(config, attribute), value, option)

    def test_precedence(self) -> None:
        """Flag over variable over file over default, for each kind of option."""
        self.file.write_text('threads = 2\ndev = true\nsink = ["a", "b,c"]\n')
        config = self.config()
        self.assertEqual(
            (config.threads, config.dev, config.sink, config.burst),
            (2, True, ("a", "b,c"), 10),
        )
        environ = {"BRIDGE_THREADS": "3", "BRIDGE_DEV": "0", "BRIDGE_SINK": "x"}
        config = self.config(**environ)
        self.assertEqual((config.threads, config.dev, config.sink), (3, False, ("x",)))
        words = ("--threads=4", "--dev", "--sink", "y", "--sink=z")
        config = self.config(*words, **environ)
        self.assertEqual(
            (config.threads, config.dev, config.sink), (4, True, ("y", "z"))
        )
        # A variable that is set to nothing changes nothing.
        self.assertEqual(self.config(BRIDGE_THREADS="").threads, 2)

    def test_attack_listening_beyond_loopback(self) -> None:
        """No spelling of an address lets the daemon listen beyond loopback."""
        for text in (
            "0.0.0.0:42081",
            "[::]:42081",
            "192.168.1.2:42081",
            "127.0.0.1.example.com:1",
            "example.com:1",
            "[::ffff:10.0.0.1]:1",
            "2130706433:1",
            "[fe80::1%lo]:1",
            ":1",
        ):
            self.assertIn("loopback", self.refusal(f"--listen={text}"), text)
            self.assertIn("loopback", self.refusal(f"--overlay-addr={text}"), text)
            self.assertIn("loopback", self.refusal(BRIDGE_LISTEN=text), text)
            self.file.write_text(f'listen = "{text}"\n')
            self.assertIn("loopback", self.refusal(), text)
            self.file.unlink()

    def test_refusals_name_option_and_rule(self) -> None:
        """A refusal names the option or the variable, and what would be right."""
        for word, reported in (
            ("--listen=127.0.0.1", "--listen: must be ADDRESS:PORT"),
            ("--listen=127.0.0.1:65536", "--listen: must be ADDRESS:PORT"),
            ("--rate=nan", "--rate: must be a number above 0"),
            ("--rate=x", "--rate: must be a number"),
            ("--burst=0", "--burst: must be a whole number from 1"),
            ("--threads=65", "--threads: must be a whole number from 1 to 64"),
            ("--log=loud", "--log: must be one of debug"),
            ("--data-dir=", "--data-dir: must be a path"),
            ("--data-dir=~nobody-here/x", "--data-dir: must be a path; there"),
            ("--host=", "--host: must not be empty"),
            ("--ca-file=/nowhere/x", "--ca-file: must be an existing file"),
            (f"--theme-dir={__file__}", "--theme-dir: must be a directory"),
            ("--allow-origin=*", "--allow-origin: must be SCHEME://HOST"),
            ("--allow-origin=null", "--allow-origin: must be SCHEME://HOST"),
            ("--allow-origin=http://a/", "--allow-origin: must be SCHEME"),
        ):
            self.assertEqual(self.refusal(word)[: len(reported)], reported)
        for variable, text, reported in (
            ("BRIDGE_DEV", "maybe", "BRIDGE_DEV: must be 1 or 0"),
            ("BRIDGE_SINK", "a,", "BRIDGE_SINK: must not be empty"),
        ):
            self.assertEqual(self.refusal(**{variable: text}), reported)
        self.file.write_text('overlay-addr = "192.0.2.1:1"\n')
        self.assertEqual(
            self.refusal(),
            f"{self.file}: overlay-addr: must be ADDRESS:PORT with a loopback address",
        )
        self.file.write_text('data-dir = "/d\\u0000"\n')
        self.assertIn("data-dir: must be a path", self.refusal())
        self.file.unlink()
        with closed_below(Path("/closed")):
            self.assertIn("existing file", self.refusal("--ca-file=/closed/x"))
            self.config("--theme-dir=/closed/x")
        both = self.refusal("--print-token", "--rotate-token")
        self.assertIn("exclude each other", both)

    @given(st.sampled_from(OPTIONS), TEXTS)
    def test_any_text(self, option, text) -> None:
        """Any text is a value of any option, or refused; nothing else is raised."""
        try:
            self.config(**{option.variable: text})
        except ConfigError as e:
            self.assertIn(option.variable, str(e))

    def test_words(self) -> None:
        """The sinks that a shell completes are those that ship."""
        [sink] = [option for option in OPTIONS if option.name == "sink"]
        self.assertEqual(set(sink.words), set(SINKS))


class UsageTests(CommandLines):
    def test_usage_errors(self) -> None:
        """What is not known, or lacks a value, ends with status 2 and is named."""
        for words, named in (
            (["--nonsense"], "--nonsense"),
            (["--lisen=x"], "--listen"),
            (["--rate"], "--rate"),
            (["extra"], "argument"),
        ):
            status, printed = self.exits(*words)
            self.assertEqual(status, 2)
            self.assertIn(named, printed)
            self.assertTrue(printed.endswith("; see x run --help\n"), printed)
            self.assertEqual(printed.count("\n"), 1)
        self.assertEqual(
            self.exits("--rate=0"),
            (2, "plugin-bridge: --rate: must be a number above 0\n"),
        )

    def test_help(self) -> None:
        """``--help`` has each option, its variable, its default and the statuses."""
        self.file.write_text("nonsense")
        status, text = self.exits("--help")
        self.assertEqual((status, text), self.exits("-h"))
        self.assertEqual(status, 0)
        flat = " ".join(text.split())
        for option in OPTIONS:
            self.assertIn(f"--{option.name}", text)
            self.assertIn(f"[env var: {option.variable}", flat)
            if option.default:
                self.assertIn(f"{option.variable}; default: {option.default}]", flat)
        self.assertIn("Exit status: 0", flat)


class PathsTests(CommandLines):
    def test_paths(self) -> None:
        """Directories given win over the profile's; options name what is unusual."""
        paths = locate("reference", Path("/d"), None)
        self.assertEqual(paths.data.root, Path("/d"))
        self.assertEqual(
            paths.bundle, Path("/d/themes/reference-host/reference-host.js")
        )
        options = ("--host", "reference", "--data-dir", "/d")
        self.assertEqual(paths.options, options)
        paths = locate("reference", Path("/d"), Path("/t"))
        self.assertEqual(paths.options, (*options, "--theme-dir", "/t"))
        typed = "--host reference --data-dir /d --theme-dir /t"
        self.assertEqual(paths.typed, typed)
        usual = locate("reference", None, None)
        self.assertEqual(usual.options, options[:2])
        same = locate("reference", usual.data.root, usual.theme_dir)
        self.assertEqual(same.options, options[:2])

    def test_usual_in_the_file(self) -> None:
        """What config.toml names is found without options; the profile's is not."""
        usual = locate("reference", None, None)
        self.file.write_text('data-dir = "/d"\ntheme-dir = "/t"\n')
        self.assertEqual(locate("reference", Path("/d"), Path("/t")).options[2:], ())
        where = ("--data-dir", str(usual.data.root), "--theme-dir")
        found = locate("reference", None, None).options[2:]
        self.assertEqual(found, (*where, str(usual.theme_dir)))
        home = Path.home() / "d"
        self.file.write_text('data-dir = "~/d"\n')
        self.assertEqual(locate("reference", home, None).options[2:], ())
        self.file.write_text("rate = [")
        self.assertEqual(locate("reference", None, None).options[2:], ())

    def test_home(self) -> None:
        """Without a home directory no command line is of use."""
        for home in ("~", "relative", "~nobody-of-this-name/x"):
            why = self.refusal("--host=reference", HOME=home)
            self.assertEqual(why, "HOME: must be an absolute path")
        latin = os.fsdecode(b"/h\xe9")
        utf8 = "must be a path in UTF-8"
        self.assertEqual(self.refusal("--host=reference", HOME=latin), f"HOME: {utf8}")
        for host, name in (("reference", "DATA"), ("vrcnext", "CONFIG")):
            with mock.patch.dict(os.environ, {f"XDG_{name}_HOME": latin}):
                self.assertRaises(ConfigError, locate, host, None, None)
        self.assertIn(f": {utf8}", self.exits(f"--data-dir={latin}")[1])


class NamesTests(CommandLines):
    def profile(self, flags: str) -> str:
        """Write a profile that names flags; return its path."""
        path = self.folder / "mine.toml"
        names = f'[names]\nvariables = "MINE_"\n[names.flags]\n{flags}\n'
        path.write_text(GOOD + names)
        return str(path)

    def test_flags(self) -> None:
        """A flag of the profile is as good as ours, and the last one wins."""
        both = ["--wayvr-addr=127.0.0.1:5", "--overlay-addr=127.0.0.1:6"]
        self.assertEqual(self.config(*both).overlay_addr.port, 6)
        self.assertEqual(self.config(*reversed(both)).overlay_addr.port, 5)

    def test_variables(self) -> None:
        """A variable of the profile is looked up after ours, and after the flag."""
        for name, text, attribute, value in (
            ("LISTEN", "127.0.0.1:7", "listen", Address("127.0.0.1", 7)),
            ("WAYVR_ADDR", "127.0.0.1:8", "overlay_addr", Address("127.0.0.1", 8)),
            ("DATA_DIR", "/d", "data_dir", Path("/d")),
            ("LOG", "WARN", "log", "warn"),
            ("LOG", "trace", "log", "debug"),
            ("LOG", "vrcnext_bridge,x=debug, Off/foo,warn", "log", "error"),
            ("LOG", "vrcnext_bridge", "log", "info"),
            ("LOG_FILE", "/l", "log_file", Path("/l")),
            ("DEV", "true", "dev", True),
        ):
            os.environ[f"VRCNEXT_BRIDGE_{name}"] = text
            self.assertEqual(getattr(self.config(), attribute), value)
        os.environ["BRIDGE_OVERLAY_ADDR"] = "127.0.0.1:9"
        self.assertEqual(self.config().overlay_addr.port, 9)
        self.assertEqual(self.config("--wayvr-addr=[::1]:5").overlay_addr.port, 5)
        os.environ["BRIDGE_OVERLAY_ADDR"] = ""
        self.assertEqual(self.config().overlay_addr.port, 8)

    def test_another_host_has_none(self) -> None:
        """They are the profile's: wherever another host is named they are unknown."""
        os.environ["VRCNEXT_BRIDGE_LOG"] = "warn"
        # Which profile is meant is known before any profile has been read.
        os.environ["VRCNEXT_BRIDGE_HOST"] = "reference"
        config = self.config()
        self.assertEqual((config.log, config.host), ("warn", "vrcnext"))
        for words in (
            ["--host", "reference"],
            ["--host=vrcnext", "--host=reference"],
            ["--log-file", "x", "--host=vrcnext", "--host", "reference"],
        ):
            self.assertEqual(self.config(*words).log, "info")
            refused = self.exits(*words, "--wayvr-addr=[::1]:5")[1]
            self.assertIn("--wayvr-addr", refused)
        for variable, file in (("reference", ""), ("", 'host = "reference"\n')):
            os.environ["BRIDGE_HOST"] = variable
            self.file.write_text(file)
            self.assertEqual(self.config().log, "info")
            config = self.config("--host=vrcnext", "--wayvr-addr=[::1]:5")
            self.assertEqual(config.log, "warn")

    def test_refusals(self) -> None:
        """All names of a flag are named, and the one variable that is set."""
        names = "--overlay-addr or --wayvr-addr: must"
        refused = self.refusal("--wayvr-addr=192.0.2.1:5")
        self.assertTrue(refused.startswith(names), refused)
        refused = self.refusal(VRCNEXT_BRIDGE_WAYVR_ADDR="x")
        self.assertTrue(refused.startswith("VRCNEXT_BRIDGE_WAYVR_ADDR: must"), refused)
        printed = io.StringIO()
        with contextlib.redirect_stderr(printed):
            self.assertRaises(
                SystemExit, Options().parseOptions, ["--wayvr-addr=127.0.0.1:0"]
            )
        self.assertIn(f"{names} have a port", printed.getvalue())

    def test_a_profile_of_somebody_s_own(self) -> None:
        """Flags without a value work; other commands find it from any directory."""
        path = self.profile('debug = "dev"')
        os.environ["MINE_DEBUG"] = "1"
        self.assertTrue(self.config(f"--host={path}").dev)
        self.assertTrue(self.config("--debug", "--host", path).dev)
        found = Path(locate(os.path.relpath(path), None, None).options[1])
        self.assertTrue(found.is_absolute())
        self.assertTrue(found.samefile(path))

    def test_flags_that_stand_for_nothing(self) -> None:
        """A profile whose flags name no option, or the host, or hide one, is bad."""
        for flags in ('a-flag = "nothing"', 'a-flag = "host"', 'rate = "burst"'):
            path = self.profile(flags)
            error = self.assertRaises(ConfigError, locate, path, None, None)
            self.assertIn("names.flags", str(error))
        for name in SHIPPED:
            locate(name, None, None)
