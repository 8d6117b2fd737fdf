"""
``plugin-bridge new``: a plugin to begin with.

It is made from ``reference/template``: a whole plugin, with words that are replaced.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final
from unicodedata import normalize

import click
from attrs import evolve

from ....plugins.tree.manifest import MANIFEST_FILE, check_new_id, read_manifest
from ....plugins.tree.tree import GIT_FOLDER
from ....protocol.errors import BridgeError, Prefix
from ....protocol.strictjson import dumps
from ....provision.readiness import OWN_HOST
from ....settings.config import HOST_OPTIONS
from ....settings.host import HostProfile, Paths
from ...authoring.programs import git
from ...authoring.worktree import HOST_LINK, OBJECT_FORMAT, is_work_tree
from ...command import command, prefix_of
from ...terminal import CommandError, reported

# Packages lose hidden files and folders of tests on their way to a user's system.
_NAMES: Final = {"gitignore": ".gitignore", "github": ".github", "unit": "tests"}

_ID: Final = "my-plugin"
_NAME: Final = "My plugin"
_DESCRIPTION: Final = "Says in one sentence what it does."
_YEAR_AND_HOLDER: Final = "YEAR HOLDER"
_ID_CHARACTERS: Final = 40


def suggested_id(folder: str) -> str:
    """Return the id that the name of a directory suggests; it may be invalid."""
    # A letter with a mark becomes the letter.
    letters = re.sub("[\u0300-\u036f]", "", normalize("NFKD", folder.lower()))
    plain = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")
    return plain[:_ID_CHARACTERS].rstrip("-")


def check_empty(root: Path) -> None:
    """
    Check that nothing would be replaced; a repository without files is empty.

    :raise CommandError: There is something, or the directory cannot be read.
    """
    found: set[str] = set()
    with reported(f"{root} cannot be read"), contextlib.suppress(FileNotFoundError):
        found = {path.name for path in root.iterdir()} - {GIT_FOLDER}
    if found:
        raise CommandError(f"{root} is not empty; new never replaces anything")


def create(
    root: Path, words: Mapping[str, str], profile: HostProfile, host: Path
) -> None:
    """
    Create a plugin in an empty git repository.

    :param root: See ``check_empty``; nothing that is there is replaced.
    :param words: What replaces each word of the template.
    :param host: The host's sources, which need not be there yet.
    :raise CommandError: A value breaks a rule, and nothing was written; or something
        cannot be written.
    """
    contents = _filled(words)
    try:
        read_manifest(contents[MANIFEST_FILE], profile)
    except BridgeError as e:
        is_id = prefix_of(e) is Prefix.INVALID_ID
        hint = "; choose another with --id" if is_id else ""
        raise CommandError(e.message + hint) from None
    # After the name, of which it is made where it was not given.
    if not words[_YEAR_AND_HOLDER].isprintable():
        raise CommandError("--author: no control characters")
    with reported(f"{root} cannot be written"):
        root.mkdir(parents=True, exist_ok=True)
        # First: where git is missing, nothing has to be removed to try again.
        if not is_work_tree(root):
            options = ("--quiet", "--initial-branch=main", OBJECT_FORMAT)
            git(root, "init", *options, as_author=True)
        for name, content in contents.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(content)
    # Where links need a privilege, the plugin is complete without it.
    with contextlib.suppress(OSError):
        (root / HOST_LINK).symlink_to(host)


def _filled(words: Mapping[str, str]) -> dict[str, bytes]:
    """Return the files of the plugin by their paths."""
    pattern = re.compile("|".join(map(re.escape, words)))
    # As JSON and TypeScript write them between quotes.
    quoted = {word: dumps(text).decode()[1:-1] for word, text in words.items()}

    def fill(text: str, given: Mapping[str, str]) -> str:
        return pattern.sub(lambda found: given[found[0]], text)

    filled = {}
    with as_file(files("bridge").joinpath("reference", "template")) as template:
        for path in sorted(p for p in template.rglob("*") if p.is_file()):
            inside = path.relative_to(template)
            name = "/".join(_NAMES.get(part, part) for part in inside.parts)
            given = quoted if name.endswith((".json", ".ts")) else words
            filled[name] = fill(path.read_text("utf-8"), given).encode()
    return filled


def _read_id(answer: str) -> str:
    """Read an answer; one that is no id is asked for again, before all else."""
    try:
        return check_new_id(answer.strip())
    except BridgeError as e:
        raise click.BadParameter(e.message) from None


_NO_DESCRIPTION: Final = "A plugin without a description."


@command(
    "new",
    "weather",
    table=(evolve(HOST_OPTIONS[0], default=OWN_HOST), *HOST_OPTIONS[1:]),
)
@click.option("--id", "plugin_id", help="The plugin's id; from the name of DIR else.")
@click.option("--name", help="The name that users read; from the id else.")
@click.option("--description", help="One sentence about what it does.")
@click.option("--author", help="Who owns the copyright.  [default: (its authors)]")
@click.option("--yes", "-y", is_flag=True, help="Ask nothing.")
@click.argument(
    "directory",
    metavar="[DIR]",
    default=".",
    type=click.Path(file_okay=False, path_type=Path),
)
def new(
    place: Paths,
    directory: Path,
    plugin_id: str | None,
    name: str | None,
    description: str | None,
    author: str | None,
    yes: bool,
) -> None:
    """
    Create a plugin for the host reference in DIR, the current directory by default,
    which must be empty: manifest, source, unit test, licence, and workflows that check
    and sign.

    On a terminal, it asks for what the options do not set; otherwise it asks nothing.
    """
    if place.profile.name != OWN_HOST:
        raise CommandError(
            f"there is a template only for the plugin API of the host {OWN_HOST}; "
            f"run: plugin-bridge new --host {OWN_HOST}"
        )
    check_empty(directory)
    asks = sys.stdin.isatty() and sys.stdout.isatty() and not yes

    def decide(
        given: str | None,
        question: str,
        usual: str,
        read: Callable[[str], str] = str.strip,
    ) -> str:
        if given is not None or not asks:
            return (usual if given is None else given).strip()
        answer: str = click.prompt(question, default=usual, value_proc=read)
        return answer

    suggested = suggested_id(directory.resolve().name)
    plugin_id = decide(plugin_id, "Id", suggested, _read_id)
    name = decide(name, "Name", plugin_id.replace("-", " ").capitalize())
    about = decide(description, "What it does, in one sentence", _NO_DESCRIPTION)
    holder = decide(author, "Author, for the licence", f"The authors of {name}")
    words = {
        _ID: plugin_id,
        _NAME: name,
        _DESCRIPTION: about,
        _YEAR_AND_HOLDER: f"{time.localtime().tm_year} {holder}",
    }
    create(directory, words, place.profile, place.data.host.absolute())
    where = shlex.quote(str(directory))
    print(f"created {plugin_id} in {directory}")
    if not (directory / HOST_LINK).is_symlink():
        print(f"{directory / HOST_LINK} is missing; link it to {place.data.host}")
    print("\nNext, each in a terminal of its own:\n")
    print(f"  plugin-bridge open --dev {place.typed}")
    print(f"  plugin-bridge dev {place.typed} {where}\n")
    print(f"{directory / 'README.md'} explains how to test and publish it.")
