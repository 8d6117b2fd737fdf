"""Tests for bridge.settings.config."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.settings.config import OPTIONS, ConfigError, read_config, read_value
from bridge.settings.values import Address

BY_NAME = {option.name: option for option in OPTIONS}


class ConfigTests(SynchronousTestCase):
    """Tests for reading options."""

    def refusal(self, given, environ=None):
        """What a command line or an environment is refused with."""
        return str(self.assertRaises(ConfigError, read_config, given, environ or {}))

    def test_defaults(self):
        """What nobody sets is as in the specification's table."""
        config = read_config({}, {})
        self.assertEqual(config.listen, Address("127.0.0.1", 42081))
        self.assertEqual(config.overlay_addr, Address("127.0.0.1", 42069))
        self.assertEqual((config.rate, config.burst, config.threads), (5.0, 10, 4))
        self.assertEqual(
            (config.log, config.dev, config.host), ("info", False, "vrcnext")
        )
        self.assertEqual((config.sink, config.allow_origin), ((), ()))
        self.assertIsNone(config.data_dir)

    def test_every_option_has_a_variable(self):
        """Each option is read from BRIDGE_ and its name in capitals."""
        for option, text, value in (
            ("listen", "[::1]:9", Address("::1", 9)),
            ("host", "reference", "reference"),
            ("sink", "overlay,freedesktop", ("overlay", "freedesktop")),
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
            ("allow-origin", "http://a, file://", ("http://a", "file://")),
            ("ca-file", __file__, Path(__file__)),
            ("public-clones-only", "yes", True),
            ("dev", "true", True),
            ("print-token", "on", True),
            ("rotate-token", "1", True),
            ("build-plugins", "1", True),
        ):
            variable = "BRIDGE_" + option.upper().replace("-", "_")
            self.assertEqual(BY_NAME[option].variable, variable)
            got = read_value(BY_NAME[option], {}, {variable: text})
            self.assertEqual(got, value, option)
        self.assertEqual(len(OPTIONS), 21)

    def test_the_flag_wins(self):
        """The command line wins over the environment, also for flags and lists."""
        environ = {"BRIDGE_RATE": "1", "BRIDGE_SINK": "a", "BRIDGE_DEV": "0"}
        config = read_config({"rate": ["2"], "sink": ["b"], "dev": True}, environ)
        self.assertEqual((config.rate, config.sink, config.dev), (2.0, ("b",), True))

    def test_empty_variable_is_unset(self):
        """A variable that is set to nothing changes nothing."""
        self.assertEqual(read_config({}, {"BRIDGE_RATE": ""}).rate, 5.0)

    def test_attack_listening_beyond_loopback(self):
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
            for line, environ in (
                ({"listen": [text]}, {}),
                ({}, {"BRIDGE_LISTEN": text}),
                ({"overlay-addr": [text]}, {}),
            ):
                self.assertIn("loopback", self.refusal(line, environ), text)

    def test_refusals_name_option_and_rule(self):
        """A refusal names the option or the variable, and what would be right."""
        for line, environ, reported in (
            ({"listen": ["127.0.0.1"]}, {}, "--listen: must be ADDRESS:PORT"),
            ({"listen": ["127.0.0.1:65536"]}, {}, "--listen: must be ADDRESS:PORT"),
            ({"rate": ["nan"]}, {}, "--rate: must be a number above 0"),
            ({"rate": ["x"]}, {}, "--rate: must be a number"),
            ({"burst": ["0"]}, {}, "--burst: must be a whole number from 1"),
            ({"threads": ["65"]}, {}, "--threads: must be a whole number from 1 to 64"),
            ({"log": ["loud"]}, {}, "--log: must be one of debug"),
            ({"data-dir": [""]}, {}, "--data-dir: must be a path"),
            ({"data-dir": ["~nobody-here/x"]}, {}, "--data-dir: must be a path; there"),
            ({"host": [""]}, {}, "--host: must not be empty"),
            ({"ca-file": ["/nowhere/x"]}, {}, "--ca-file: must be an existing file"),
            ({"theme-dir": [__file__]}, {}, "--theme-dir: must be a directory"),
            ({"allow-origin": ["*"]}, {}, "--allow-origin: must be SCHEME://HOST"),
            ({"allow-origin": ["null"]}, {}, "--allow-origin: must be SCHEME://HOST"),
            ({"allow-origin": ["http://a/"]}, {}, "--allow-origin: must be SCHEME"),
            ({}, {"BRIDGE_DEV": "maybe"}, "BRIDGE_DEV: must be 1 or 0"),
            ({}, {"BRIDGE_SINK": "a,"}, "BRIDGE_SINK: must not be empty"),
            ({"print-token": True, "rotate-token": True}, {}, "exclude each other"),
        ):
            self.assertIn(reported, self.refusal(line, environ))

    def test_addresses_are_shown_as_in_urls(self):
        """An IPv6 address is shown in brackets."""
        self.assertEqual(str(Address("::1", 2)), "[::1]:2")
        self.assertEqual(str(Address("127.0.0.1", 2)), "127.0.0.1:2")

    @given(st.sampled_from(OPTIONS), st.text())
    @settings(deadline=None)
    def test_any_text(self, option, text):
        """Any text is a value of any option, or refused; nothing else is raised."""
        try:
            read_value(option, {}, {option.variable: text})
        except ConfigError as e:
            self.assertTrue(str(e).startswith(option.variable))
