"""``plugin-bridge new``: a plugin to begin with."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Final

from attrs import evolve

from ....classes import frozen
from ....provision.readiness import OWN_HOST, missing_sources
from ....settings.config import BY_NAME, HOST_OPTIONS, Option
from ....settings.options import HostOptions, Paths
from ...authoring.scaffold import (
    LINK,
    NewPlugin,
    check_empty,
    create,
    suggested_id,
    suggested_name,
)
from ...terminal import CommandError, failed

_DESCRIPTION: Final = "A plugin without a description."


class NewOptions(HostOptions):
    """The command line of ``plugin-bridge new``."""

    table: ClassVar[tuple[Option, ...]] = (
        evolve(BY_NAME["host"], default=OWN_HOST),
        *(option for option in HOST_OPTIONS if option.name != "host"),
    )
    synopsis = (
        "Usage: plugin-bridge new [--id ID] [--name NAME] [--description TEXT] "
        "[--author NAME] [DIR]"
    )
    longdesc = (
        f"Creates a plugin for the host {OWN_HOST} in DIR (default: the current "
        "directory), which must be empty: manifest, source, unit test, licence, and "
        "workflows that check and sign. On a terminal, it asks for what the options "
        "do not set; otherwise it asks nothing."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["id", None, None, "the plugin's id (default: from the name of DIR)"],
        ["name", None, None, "the name that users read (default: from the id)"],
        ["description", None, None, "one sentence about what it does"],
        [
            "author",
            None,
            None,
            "who owns the copyright (default: its authors)",
        ],
    ]
    optFlags: ClassVar[list[list[str | None]]] = [["yes", "y", "ask nothing"]]

    def parseArgs(self, directory: str = ".") -> None:
        """Accept the directory."""
        self["directory"] = directory


@frozen
class Terminal:
    """
    Where the author is.

    :ivar asks: Whether somebody can answer.
    :ivar ask: Shows a question and returns the answer.
    """

    asks: bool
    ask: Callable[[str], str] = input


def main(arguments: list[str]) -> int:
    """Create a plugin and return the exit status."""
    options = NewOptions()
    options.parseOptions(arguments)
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    year = time.localtime().tm_year
    return new(options, Terminal(is_terminal and not options["yes"]), year)


def new(options: NewOptions, terminal: Terminal, year: int) -> int:
    """
    Create a plugin.

    :param year: The current one.
    :return: The exit status: 0, or 1 after a line on standard error.
    """
    place = options.paths()
    root = Path(options["directory"])
    try:
        _check_host(place)
        check_empty(root)
        plugin = _decided(options, terminal, root, year)
        create(root, plugin, place.profile, place.data.host.absolute())
    except CommandError as e:
        return failed("new", str(e))
    except EOFError:
        return failed("new", "there was no answer")
    _report(root, plugin, place, options)
    return 0


def _check_host(place: Paths) -> None:
    if place.profile.name != OWN_HOST:
        raise CommandError(
            f"there is a template only for the plugin API of the host {OWN_HOST}; "
            f"run: plugin-bridge new --host {OWN_HOST}"
        )


def _decided(
    options: NewOptions, terminal: Terminal, root: Path, year: int
) -> NewPlugin:
    def decide(option: str, question: str, usual: str) -> str:
        if options[option] is not None:
            return str(options[option]).strip()
        if not terminal.asks:
            return usual
        return terminal.ask(f"{question} [{usual}]: ").strip() or usual

    suggested = suggested_id(root.resolve().name)
    plugin_id = decide("id", "Id", suggested)
    name = decide("name", "Name", suggested_name(plugin_id))
    about = decide("description", "What it does, in one sentence", _DESCRIPTION)
    holder = decide("author", "Author, for the licence", f"The authors of {name}")
    return NewPlugin(plugin_id, name, about, holder, year)


def _report(root: Path, plugin: NewPlugin, place: Paths, options: NewOptions) -> None:
    where = shlex.quote(str(root))
    naming = shlex.join(options.naming(place))
    lines = [f"created {plugin.id} in {root}"]
    if not (root / LINK).is_symlink():
        lines.append(f"{root / LINK} is missing; link it to {place.data.host}")
    lines += ["", "Next:", ""]
    if missing_sources(place):
        lines.append(f"  plugin-bridge setup {naming}")
    lines += [
        f"  plugin-bridge run --dev {naming}",
        f"  plugin-bridge dev {naming} {where}",
        "",
        f"{root / 'README.md'} explains how to test and publish it.",
    ]
    print("\n".join(lines))
