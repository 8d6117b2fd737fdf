"""Tests for bridge.settings.host."""

from __future__ import annotations

import os
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

from attrs.exceptions import FrozenInstanceError
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.settings.host import (
    SHIPPED,
    HostProfile,
    ProfileError,
    host_commands,
    load_profile,
    parse_profile,
)

from ..directories import fresh_directory
from ..strategies import SECRET

GOOD = """
name = "mine"
application = "Mine"
theme_name = "mine-theme"
bundle_name = "mine-bundle"
api_module = "@mine/api"
table_module = "virtual-table"
signature_domain = "mine"
info_author = "me"
permissions = ["network"]

[directories]
data = "{home}/mine"
theme = "{data}/themes"
"""


class ShippedTests(SynchronousTestCase):
    """Tests for the profiles that ship."""

    def test_commands(self) -> None:
        """The commands of hosts are known, and are no two hosts' at once."""
        self.assertEqual(host_commands(), {"vrcnext-bridge": "vrcnext"})

    def test_every_file_is_offered(self) -> None:
        """Each TOML file of the package can be chosen by its name."""
        names = {
            p.name for p in files("bridge.settings").joinpath("profiles").iterdir()
        }
        self.assertEqual(names, {f"{name}.toml" for name in SHIPPED})
        for name in SHIPPED:
            self.assertEqual(load_profile(name).name, name)

    def test_vrcnext(self) -> None:
        """The default names what the real application's page expects."""
        profile = load_profile("vrcnext")
        self.assertEqual(profile.tree_domain, "vrcnext-plugin-tree-v1")
        self.assertEqual(profile.message_domain, "vrcnext-plugin-signature-v1")
        self.assertEqual(profile.theme_name, "vrcnext-plugin-system")
        self.assertEqual(profile.bundle_name, "vrcnext-plugin-host")
        self.assertEqual(profile.api_module, "@vrcnext/plugin-api")
        self.assertEqual(profile.sink_aliases, {"wayvr": "overlay"})
        self.assertEqual(set(profile.databases), {"vrcnext", "avatars"})
        self.assertTrue(profile.plain_versions)
        self.assertEqual(profile.data_dir(), Path.home() / ".vrcnext-plugins")

    def test_reference(self) -> None:
        """The small host keeps everything under the data directory."""
        profile = load_profile("reference")
        data = Path("/srv/data")
        self.assertEqual(profile.theme_dir(data), data / "themes")
        self.assertEqual(profile.database("sample", data), data / "sample.db")
        self.assertEqual(profile.tree_domain, "bridge-plugin-tree-v1")
        self.assertFalse(profile.plain_versions)

    def test_plugins(self) -> None:
        """Plugins are modules of the bundle unless the profile asks for texts."""
        self.assertFalse(load_profile("vrcnext").has_texts)
        self.assertFalse(parse_profile(GOOD).has_texts)
        self.assertTrue(parse_profile(f'plugins = "texts"\n{GOOD}').has_texts)
        for value in ('"lazy"', "true"):
            with self.assertRaises(ProfileError):
                parse_profile(f"plugins = {value}\n{GOOD}")

    def test_same_vocabulary(self) -> None:
        """Both know the same 13 permissions, each once."""
        vrcnext, reference = (load_profile(name).permissions for name in SHIPPED)
        self.assertEqual(vrcnext, reference)
        self.assertEqual(len(set(vrcnext)), 13)

    def test_unknown_database(self) -> None:
        """An alias that is not there is a ``KeyError``."""
        profile = load_profile("reference")
        self.assertRaises(KeyError, profile.database, "other", Path("/d"))

    def test_frozen(self) -> None:
        """A profile can't be changed while the daemon runs."""
        profile: Any = load_profile("reference")
        with self.assertRaises(FrozenInstanceError):
            profile.name = "x"


class PlatformTests(SynchronousTestCase):
    """Tests for where things are on each system."""

    def test_config_directory_of_the_user(self) -> None:
        """The theme directory follows the user's configuration directory."""
        self.patch(os, "environ", {**os.environ, "XDG_CONFIG_HOME": "/xdg"})
        profile = load_profile("vrcnext")
        self.assertEqual(
            profile.theme_dir(Path("/d")), Path("/xdg/VRCNext/custom-themes")
        )

    def test_windows(self) -> None:
        """On Windows the data directory is the one for it, where there is one."""
        self.patch(sys, "platform", "win32")
        vrcnext, reference = (load_profile(name) for name in SHIPPED)
        self.assertEqual(vrcnext.data_dir().name, "vrcnext-plugins")
        self.assertEqual(reference.data_dir().name, "plugin-bridge")


class ParseTests(SynchronousTestCase):
    """Tests for profiles of others."""

    def refused(self, text: str) -> str:
        """Return why a profile is refused."""
        return str(self.assertRaises(ProfileError, parse_profile, text))

    def replaced(self, line: str) -> str:
        """Replace the line that gives the same field, or append it."""
        key = line.split(" =")[0]
        pattern = rf"(?m)^{re.escape(key)} = .*$"
        if re.search(pattern, GOOD):
            return re.sub(pattern, lambda _: line, GOOD)
        return f"{line}\n{GOOD}"

    def test_good(self) -> None:
        """The fewest fields make a profile."""
        profile = parse_profile(GOOD)
        self.assertIsInstance(profile, HostProfile)
        self.assertEqual(profile.theme_dir(Path("/d")), Path("/d/themes"))
        self.assertEqual(profile.databases, {})

    def test_names_the_field_and_the_rule(self) -> None:
        """A refusal names the field as the file spells it, never its value."""
        for line, message in (
            ('theme_name = "../SECRET"', "theme_name: at most 64 characters"),
            ('theme_name = ".hidden"', "theme_name: at most"),
            ('bundle_name = "a/b"', "bundle_name: at most"),
            ('api_module = "../x"', ""),
            ('signature_domain = "a\\nb"', "signature_domain: at most"),
            ('permissions = ["A"]', "permissions: at most"),
            ('permissions = "network"', "permissions: wrong type"),
            ("plain_versions = 1", "plain_versions: wrong type"),
            ("name = 2024-01-01", "name: wrong type"),
            ('SECRET = "x"', "unknown field"),
            ('names = {command = "a/b"}', "names.command: at most"),
            ('names = {variables = "a b"}', "names.variables: at most"),
            ('names = {flags = {"-SECRET" = "dev"}}', "names.flags"),
            ('names = {SECRET = "x"}', "names: unknown field"),
            ("permission_words = {network = {label = 'x'}}", "permission_words"),
            (
                "permission_words = {network = {label = '<SECRET>', effect = 'x'}}",
                "per",
            ),
            ("permission_words = {network = {label = '', effect = 'x'}}", "p"),
        ):
            text = self.replaced(line)
            if message:
                self.assertTrue(self.refused(text).startswith(message), line)
                self.assertNotIn("SECRET", self.refused(text))

    def test_schema(self) -> None:
        """The address of its schema is no key; it must be text all the same."""
        schema = '"$schema" = "./host.json"\n'
        self.assertEqual(parse_profile(schema + GOOD), parse_profile(GOOD))
        with self.assertRaises(ProfileError) as raised:
            parse_profile('"$schema" = 5\n' + GOOD)
        self.assertEqual(str(raised.exception), "$schema: wrong type")

    def test_missing(self) -> None:
        """A missing field is named."""
        text = GOOD.replace('bundle_name = "mine-bundle"\n', "")
        self.assertEqual(self.refused(text), "bundle_name: required")
        text = GOOD.replace('theme = "{data}/themes"\n', "")
        self.assertEqual(self.refused(text), "directories.theme: required")

    def test_placeholders(self) -> None:
        """Only the documented placeholders may stand in braces, nothing into them."""
        for template in (
            "{nowhere}/x",
            "{0}",
            "{",
            "{home",
            "{home!x}",
            "{home.secret}",
            "{home[secret]}",
            "{home:99}",
        ):
            for key in ("data", "data_windows", "theme"):
                text = GOOD.replace(f"\n{key} = ", "\n# ") + f"\n{key} = '{template}'\n"
                if template == "{home:99}":
                    parse_profile(text)  # a width is silly, and harmless
                else:
                    self.assertIn("placeholder", self.refused(text), (key, template))
            text = GOOD + f"\n[databases.a]\npath = '{template}'\nabout = 'x'\n"
            if template != "{home:99}":
                self.assertIn("placeholder", self.refused(text))

    def test_relative_paths(self) -> None:
        """No path depends on where the daemon is started, nor on a shell's ``~``."""
        for path in ("mine", "./mine", "~/mine", ""):
            text = GOOD.replace('"{home}/mine"', f'"{path}"')
            self.assertIn("must be absolute", self.refused(text), path)
        text = GOOD + '[databases.a]\npath = "a.db"\nabout = ""\n'
        self.assertIn("must be absolute", self.refused(text))

    def test_not_toml(self) -> None:
        """What is no TOML is refused with the place, without its content."""
        message = self.refused(GOOD + f"\n{SECRET} = \x01{SECRET}")
        self.assertTrue(message.startswith("not TOML: at line"), message)
        self.assertNotIn(SECRET, message)
        message = self.refused(f'{SECRET} = "1"\n[{SECRET}]\n')
        self.assertNotIn(SECRET, message)

    def test_file_and_field(self) -> None:
        """A refusal names the file and the field, or what is around it."""
        database = '\n[databases.SECRET]\npath = "{home}/x"\nabout = "x"\n'
        for text, message in (
            (GOOD.replace('"mine-theme"', "1"), "theme_name: wrong type"),
            (GOOD.replace('"network"', '"A"'), "permissions: at most"),
            (GOOD.replace('theme = "{data}/themes"', ""), "directories.theme: req"),
            ("SECRET = 1\n" + GOOD, "unknown field"),
            (GOOD + "SECRET = 1\n", "directories: unknown field"),
            (GOOD + database.replace('"x"', "1"), "databases[].about: wrong type"),
            (GOOD + database + "SECRET = 1\n", "databases[]: unknown field"),
            (
                GOOD + database.replace("{home}/", ""),
                "databases[].path: must",
            ),
            (
                GOOD + database.replace("home", "SECRET"),
                "databases[].path: un",
            ),
            (
                GOOD.replace("{data}", "{x}"),
                "directories.theme: unknown",
            ),
            (GOOD + '[names.flags]\n"-SECRET" = "dev"\n', "names.flags[]: at"),
        ):
            error = self.assertRaises(ProfileError, parse_profile, text, "mine.toml")
            where = f"mine.toml: {message}"
            self.assertEqual(str(error)[: len(where)], where)
            self.assertNotIn("SECRET", str(error))
        for text, message in (
            (GOOD.replace('name = "mine"\n', ""), "mine.toml: name: required"),
            (GOOD + "=", "mine.toml: not TOML: at line 15, column 1"),
        ):
            error = self.assertRaises(ProfileError, parse_profile, text, "mine.toml")
            self.assertEqual(str(error), message)

    def test_other_system(self) -> None:
        """A directory of another system need not be absolute."""
        text = f'{GOOD}data_windows = "C:mine"\n'
        self.assertEqual(parse_profile(text).data_key, "data")
        self.patch(sys, "platform", "win32")
        windows = text.replace('"{home}/mine"', '"mine"').replace("C:", "{home}/")
        self.assertEqual(parse_profile(windows).data_key, "data_windows")
        self.assertIn("directories.data_windows: must be", self.refused(text))

    @given(st.text(max_size=60))
    @settings(deadline=None)
    def test_any_text(self, text: str) -> None:
        """Any text is refused in words."""
        self.assertTrue(self.refused(text))


class LoadTests(SynchronousTestCase):
    """Tests for reading profile files."""

    def test_path(self) -> None:
        """Any TOML file can be named by its path."""
        path = fresh_directory(self) / "mine.toml"
        path.write_text(GOOD, "utf-8")
        self.assertEqual(load_profile(str(path)).name, "mine")
        path.write_text(GOOD.replace('"me"', "0"), "utf-8")
        error = self.assertRaises(ProfileError, load_profile, str(path))
        self.assertEqual(str(error), f"{path}: info_author: wrong type")

    def test_unreadable(self) -> None:
        """What is neither shipped nor a readable text is refused, without its name."""
        directory = fresh_directory(self)
        binary = directory / "binary"
        binary.write_bytes(b"\xff\xfe\x00")
        for name in (SECRET, str(directory), str(binary), "a\x00b", ""):
            error = self.assertRaises(ProfileError, load_profile, name)
            self.assertIn("vrcnext, reference", str(error))
            self.assertNotIn(SECRET, str(error))
