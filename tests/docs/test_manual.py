import os
import re
import subprocess
from pathlib import Path

import click
from attrs import fields
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.main import COMMANDS, find
from bridge.datadir.paths import DataDir
from bridge.protocol.errors import CloseReason, Code, Prefix
from bridge.rpc import Event
from bridge.settings.config import OPTIONS
from bridge.settings.host import (
    Database,
    Directories,
    HostProfile,
    Names,
    PermissionWords,
    load_profile,
)

from ..programs import program, run
from ..schemas.checking import DOCUMENT
from .building import DOCS, built

LISTED = (DOCS.parent / "debian" / "plugin-bridge.manpages").read_text("utf-8")
PAGES = {Path(line).name for line in LISTED.split()}
"""What the package installs."""


def man(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run ``man``, as lintian does."""
    options = ("--warnings", "-E", "UTF-8", "-l", *arguments)
    variables = {"LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80"}
    return run(program("man", "man-db"), *options, env={**os.environ, **variables})


def text_of(name: str) -> str:
    """Give the text of a page, its lines joined and its hyphenation undone."""
    page = built("man") / name
    rendered = man("--no-hyphenation", "--no-justification", page).stdout
    plain = re.sub(r".\x08", "", rendered)
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", plain).split())


class RenderedTests(SynchronousTestCase):
    def test_no_warning(self) -> None:
        """Each page is made without a warning, and shown without one."""
        for name in PAGES:
            shown = man("-Tutf8", "-Z", built("man") / name)
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), name)

    def test_no_other(self) -> None:
        """What is built is what the package installs."""
        self.assertEqual({page.name for page in built("man").iterdir()}, PAGES)

    def test_commands(self) -> None:
        """Every command, option and variable is documented."""
        text = text_of("plugin-bridge.1")
        for name in COMMANDS:
            self.assertIn(f"plugin-bridge {name} ", text)
            made = find(name)
            for param in made.get_params(click.Context(made)):
                if isinstance(param, click.Option):
                    self.assertIn(max(param.opts, key=len), text, name)
        for option in OPTIONS:
            self.assertIn(option.variable, text)

    def test_files(self) -> None:
        """Every path of the data directory is documented, with what it is for."""
        text = text_of("plugin-bridge.1")
        data = DataDir(Path("DATA"))
        for name, value in vars(DataDir).items():
            if isinstance(value, type(DataDir.__dict__["token"])):
                self.assertRegex(text, rf" {re.escape(str(getattr(data, name)))} [A-Z]")

    def test_permissions(self) -> None:
        """Every permission is explained in the words of the prompts."""
        text = text_of("plugin.json.5")
        for name, meaning in load_profile("reference").permission_words.items():
            self.assertIn(name, text)
            self.assertIn(f"{meaning.label}: {meaning.effect}", text)
        for part in ("http", "native", "osc", "sql"):
            self.assertIn(f"Gives ctx.{part}.", text)

    def test_profile(self) -> None:
        """Every key of a profile is documented."""
        text = text_of("plugin-bridge-host.5")
        for kind in (HostProfile, Directories, Database, PermissionWords, Names):
            for one in fields(kind):
                self.assertIn(f"{one.name} (", text)
        self.assertIn('theme_name = "my-plugins"', text)

    def test_protocol(self) -> None:
        """Every method, event, error and reason is documented."""
        text = text_of("plugin-bridge-protocol.7")
        for method in DOCUMENT["methods"]:
            self.assertIn(method, text)
        for word in (*Code, *Event, *Prefix, *CloseReason):
            self.assertIn(str(word), text)
