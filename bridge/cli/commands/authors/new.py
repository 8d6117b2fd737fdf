"""``plugin-bridge new``: a plugin to begin with."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Final

import click
from attrs import evolve

from ....provision.readiness import OWN_HOST, missing_sources
from ....settings.config import HOST_OPTIONS
from ....settings.options import Paths, Value
from ...authoring.scaffold import (
    LINK,
    NewPlugin,
    check_empty,
    create,
    suggested_id,
    suggested_name,
)
from ...command import command
from ...terminal import CommandError

_DESCRIPTION: Final = "A plugin without a description."


@command(
    "new",
    f"Create a plugin for the host {OWN_HOST} in DIR, the current directory by "
    "default, which must be empty: manifest, source, unit test, licence, and workflows "
    "that check and sign. On a terminal, it asks for what the options do not set; "
    "otherwise it asks nothing.",
    "weather",
    table=(evolve(HOST_OPTIONS[0], default=OWN_HOST), *HOST_OPTIONS[1:]),
)
@click.option("--id", "plugin_id", help="The plugin's id; from the name of DIR else.")
@click.option("--name", help="The name that users read; from the id else.")
@click.option("--description", help="One sentence about what it does.")
@click.option("--author", help="Who owns the copyright.  [default: (its authors)]")
@click.option("--yes", "-y", is_flag=True, help="Ask nothing.")
@click.argument("directory", metavar="[DIR]", default=".", type=Value(Path))
def new(
    place: Paths,
    directory: Path,
    plugin_id: str | None,
    name: str | None,
    description: str | None,
    author: str | None,
    yes: bool,
) -> None:
    """Create a plugin."""
    if place.profile.name != OWN_HOST:
        raise CommandError(
            f"there is a template only for the plugin API of the host {OWN_HOST}; "
            f"run: plugin-bridge new --host {OWN_HOST}"
        )
    check_empty(directory)
    asks = sys.stdin.isatty() and sys.stdout.isatty() and not yes

    def decide(given: str | None, question: str, usual: str) -> str:
        if given is not None or not asks:
            return (usual if given is None else given).strip()
        answer: str = click.prompt(question, default=usual)
        return answer.strip()

    plugin_id = decide(plugin_id, "Id", suggested_id(directory.resolve().name))
    name = decide(name, "Name", suggested_name(plugin_id))
    plugin = NewPlugin(
        plugin_id,
        name,
        decide(description, "What it does, in one sentence", _DESCRIPTION),
        decide(author, "Author, for the licence", f"The authors of {name}"),
        time.localtime().tm_year,
    )
    create(directory, plugin, place.profile, place.data.host.absolute())
    _report(directory, plugin, place)


def _report(root: Path, plugin: NewPlugin, place: Paths) -> None:
    where = shlex.quote(str(root))
    naming = place.typed
    lines = [f"created {plugin.id} in {root}"]
    if not (root / LINK).is_symlink():
        lines.append(f"{root / LINK} is missing; link it to {place.data.host}")
    lines += ["", "Next:", ""]
    if missing_sources(place):
        lines.append(f"  plugin-bridge setup {naming}")
    lines += [
        f"  plugin-bridge open --dev {naming}",
        f"  plugin-bridge dev {naming} {where}",
        "",
        f"{root / 'README.md'} explains how to test and publish it.",
    ]
    print("\n".join(lines))
