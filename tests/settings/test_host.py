from __future__ import annotations

import os
import re
import sys
from functools import partial
from importlib.resources import files
from pathlib import Path, PureWindowsPath

from twisted.trial.unittest import SynchronousTestCase

from bridge.settings import host
from bridge.settings.config import ConfigError

from ..directories import fresh_directory

parse = partial(host.parse_profile, name="mine.toml")

GOOD = Path(__file__).with_name("good.toml").read_text("utf-8")


class WindowsPath(PureWindowsPath):
    """A path as Windows reads it, where the working directory is on a drive."""

    @classmethod
    def home(cls) -> WindowsPath:
        return cls("C:/Users/me")

    def absolute(self) -> WindowsPath:
        return WindowsPath("C:/") / self


class ShippedTests(SynchronousTestCase):
    def test_every_file_is_offered(self) -> None:
        """Each TOML file of the package can be chosen by its name."""
        folder = files("bridge.settings").joinpath("profiles")
        names = {path.name for path in folder.iterdir()}
        self.assertEqual(names, {f"{name}.toml" for name in host.SHIPPED})
        for name in host.SHIPPED:
            self.assertEqual(host.load_profile(name).name, name)
        # Without a home directory, too, where no profile has a place for its files.
        self.patch(os, "environ", {**os.environ, "HOME": "relative"})
        self.assertEqual(host.host_commands(), {"vrcnext-bridge": "vrcnext"})

    def test_vrcnext(self) -> None:
        """The default names what the real application's page expects."""
        profile = host.load_profile("vrcnext")
        self.assertEqual(profile.tree_domain, "vrcnext-plugin-tree-v1")
        self.assertEqual(profile.message_domain, "vrcnext-plugin-signature-v1")
        self.assertEqual(profile.theme_name, "vrcnext-plugin-system")
        self.assertEqual(profile.bundle_name, "vrcnext-plugin-host")
        self.assertEqual(profile.api_module, "@vrcnext/plugin-api")
        self.assertEqual(profile.sink_aliases, {"wayvr": "overlay"})
        self.assertEqual(set(profile.databases), {"vrcnext", "avatars"})
        self.assertEqual((profile.plain_versions, profile.has_texts), (True, False))
        self.assertEqual(profile.data_dir(), Path.home() / ".vrcnext-plugins")
        self.patch(os, "environ", {**os.environ, "XDG_CONFIG_HOME": "/xdg"})
        themes = Path("/xdg/VRCNext/custom-themes")
        self.assertEqual(profile.theme_dir(Path("/d")), themes)

    def test_reference(self) -> None:
        """The small host keeps everything under the data directory."""
        profile = host.load_profile("reference")
        data = Path("/srv/data")
        self.assertEqual(profile.theme_dir(data), data / "themes")
        self.assertEqual(profile.database("sample", data), data / "sample.db")
        self.assertRaises(KeyError, profile.database, "other", data)
        self.assertEqual(profile.tree_domain, "bridge-plugin-tree-v1")
        self.assertEqual((profile.plain_versions, profile.has_texts), (False, True))

    def test_windows(self) -> None:
        """On Windows the data directory is the one for it, where there is one."""
        self.patch(sys, "platform", "win32")
        vrcnext, reference = (host.load_profile(name) for name in host.SHIPPED)
        self.assertEqual(vrcnext.data_dir().name, "vrcnext-plugins")
        self.assertEqual(reference.data_dir().name, "plugin-bridge")
        # A path without a drive is not absolute there.
        self.patch(host, "Path", WindowsPath)
        for name in ("user_config_path", "user_data_path"):
            self.patch(host.platformdirs, name, lambda roaming=False: "C:/AppData")
        self.assertEqual(
            [host.load_profile(name).name for name in host.SHIPPED], [*host.SHIPPED]
        )


def replaced(line: str) -> str:
    """Give one field of the good profile another value, or a new field."""
    pattern = rf"(?m)^{re.escape(line.split(' =')[0])} = .*$"
    if re.search(pattern, GOOD):
        return re.sub(pattern, lambda _: line, GOOD)
    return f"{line}\n{GOOD}"


DATABASE = '\n[databases.SECRET]\npath = "{home}/x"\nabout = "x"\n'
WORDS = "permission_words = {network = {label = LABEL, effect = 'x'}}"

REFUSED: list[tuple[str, str]] = [
    (replaced('theme_name = "../SECRET"'), "theme_name: at most 64 characters"),
    (replaced('theme_name = ".hidden"'), "theme_name: at most"),
    (replaced('bundle_name = "a/b"'), "bundle_name: at most"),
    (replaced('signature_domain = "a\\nb"'), "signature_domain: at most"),
    (replaced('permissions = ["A"]'), "permissions: at most"),
    (replaced('permissions = "network"'), "permissions: must be a list"),
    (replaced('plugins = "lazy"'), "plugins: at most"),
    (replaced("plugins = true"), "plugins: must be a string"),
    (replaced("plain_versions = 1"), "plain_versions: must be true or false"),
    (replaced("name = 2024-01-01"), "name: must be a string"),
    (replaced('opt_on = "x"'), "opt_on: unknown field; did you mean opt_in?"),
    (replaced('data = "{home}/SECRET\\u0000"'), "directories.data: at most 1024"),
    (replaced('names = {command = "a/b"}'), "names.command: at most"),
    (replaced('names = {variables = "a b"}'), "names.variables: at most"),
    (replaced('names = {flags = {"-SECRET" = "dev"}}'), "names.flags[]: at"),
    (replaced('names = {"\\u001bno" = "SECRET"}'), "names.no: unknown field"),
    (replaced("permission_words = {network = {label = 'x'}}"), "permission_words"),
    (replaced(WORDS.replace("LABEL", "'<SECRET>'")), "permission_words[].label: "),
    (replaced(WORDS.replace("LABEL", "''")), "permission_words[].label: "),
    (GOOD.replace('name = "mine"\n', "", 1), "name: required"),
    (GOOD.replace('theme = "{data}/themes"\n', ""), "directories.theme: required"),
    (GOOD + "date = 1\n", "directories.date: unknown field; did you mean data?"),
    (GOOD + DATABASE.replace('"x"', "1"), "databases[].about: must be a string"),
    (GOOD + DATABASE + "no = 1\n", "databases[].no: unknown field"),
    (GOOD + DATABASE.replace("{home}/", ""), "databases[].path: must be absolute"),
    (GOOD + DATABASE.replace("home", "SECRET"), "databases[].path: unknown place"),
    ('"$schema" = 5\n' + GOOD, "$schema: must be a string"),
    (GOOD + "=", "not TOML: at line 15, column 1"),
    (GOOD + "\nSECRET = \x01SECRET", "not TOML: at line"),
]
# No path depends on where the daemon is started, nor on a shell's ``~``.
REFUSED += [
    (GOOD.replace('"{home}/mine"', f'"{path}"'), "directories.data: must be absolute")
    for path in ("mine", "./mine", "~/mine", "")
]
# Only the documented placeholders may stand in braces, nothing into them.
REFUSED += [
    (text, f"{name}: unknown placeholder")
    for braces in ("{x}/x", "{0}", "{", "{home", "{home!x}", "{home.a}", "{home[a]}")
    for name, text in (
        ("directories.data", replaced(f"data = '{braces}'")),
        ("directories.data_windows", f"{GOOD}data_windows = '{braces}'\n"),
        ("directories.theme", replaced(f"theme = '{braces}'")),
        ("databases[].path", GOOD + DATABASE.replace('"{home}/x"', f"'{braces}'")),
    )
]


class ParseTests(SynchronousTestCase):
    def test_good(self) -> None:
        """The fewest fields make a profile; the address of its schema is none."""
        profile = parse(GOOD)
        self.assertIsInstance(profile, host.HostProfile)
        self.assertEqual(profile.theme_dir(Path("/d")), Path("/d/themes"))
        self.assertEqual((profile.databases, profile.has_texts), ({}, False))
        self.assertTrue(parse(f'plugins = "texts"\n{GOOD}').has_texts)
        schema = '"$schema" = "./host.json"\n'
        self.assertEqual(parse(schema + GOOD), profile)
        for field, most in (("name", 64), ("theme_name", 64), ("api_module", 128)):
            text = replaced(f'{field} = "{"x" * most}"')
            parse(text)
            longer = text.replace('"x', '"xx')
            self.assertRaises(ConfigError, parse, longer)
        # A width is silly, and harmless.
        parse(GOOD.replace("{home}/", "{home:99}/"))

    def test_permission_words(self) -> None:
        """Its own words come before those of the shipped hosts, which it has else."""
        shipped = parse(GOOD).permission_words
        self.assertEqual(shipped, host.load_profile("vrcnext").permission_words)
        own = parse(replaced(WORDS.replace("LABEL", "'Mine'"))).permission_words
        network = host.PermissionWords("Mine", "x")
        self.assertEqual(own, {**shipped, "network": network})

    def test_refused(self) -> None:
        """A refusal names file and field as the file spells it, never a value."""
        file = fresh_directory(self) / "mine.toml"
        for text, message in REFUSED:
            file.write_text(text)
            error = self.assertRaises(ConfigError, host.load_profile, str(file))
            where = f"{file}: {message}"
            self.assertEqual(str(error)[: len(where)], where)
            self.assertNotIn("SECRET", str(error))

    def test_other_system(self) -> None:
        """A directory of another system need not be absolute."""
        text = f'{GOOD}data_windows = "C:mine"\n'
        self.assertEqual(parse(text).data_key, "data")
        self.patch(sys, "platform", "win32")
        windows = text.replace('"{home}/mine"', '"mine"').replace("C:", "{home}/")
        self.assertEqual(parse(windows).data_key, "data_windows")
        error = self.assertRaises(ConfigError, parse, text)
        self.assertIn("directories.data_windows: must be", str(error))

    def test_unreadable(self) -> None:
        """What is neither shipped nor a readable text is refused, without its name."""
        directory = fresh_directory(self)
        binary = directory / "binary"
        binary.write_bytes(b"\xff\xfe\x00")
        for name in ("SECRET", str(directory), str(binary), "a\x00b", ""):
            error = self.assertRaises(ConfigError, host.load_profile, name)
            self.assertIn("reference) nor a readable file in UTF-8", str(error))
            self.assertNotIn("SECRET", str(error))
