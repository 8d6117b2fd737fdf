"""
Creates a plugin's directory from the template that ships with plugin-bridge.

The template is ``reference/template``: a whole plugin, with words that are replaced.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from ...classes import frozen
from ...plugins.tree.manifest import MANIFEST_FILE, check_new_id, read_manifest
from ...protocol.errors import BridgeError
from ...protocol.strictjson import dumps
from ...settings.host import HostProfile
from ..terminal import CommandError
from .worktree import GIT_FOLDER, git, is_work_tree

LINK: Final = ".host"
"""The link by which editors and tests find the host's sources."""

# Packages lose hidden files and folders of tests on their way to a user's system.
_NAMES: Final = {"gitignore": ".gitignore", "github": ".github", "unit": "tests"}

_ID: Final = "my-plugin"
_NAME: Final = "My plugin"
_DESCRIPTION: Final = "Says in one sentence what it does."
_YEAR_AND_HOLDER: Final = "YEAR HOLDER"
_ID_CHARACTERS: Final = 40


@frozen
class NewPlugin:
    """
    What the author decides about a plugin.

    :ivar id: See ``check_new_id``.
    :ivar name: What users read.
    :ivar description: One line.
    :ivar holder: Who owns the copyright.
    :ivar year: Since when.
    """

    id: str
    name: str
    description: str
    holder: str
    year: int

    @property
    def words(self) -> Mapping[str, str]:
        """The words of the template, and what replaces each."""
        return {
            _ID: self.id,
            _NAME: self.name,
            _DESCRIPTION: self.description,
            _YEAR_AND_HOLDER: f"{self.year} {self.holder}",
        }


def suggested_id(folder: str) -> str:
    """Return the id that the name of a directory suggests; it may be invalid."""
    plain = re.sub(r"[^a-z0-9]+", "-", folder.lower()).strip("-")
    return plain[:_ID_CHARACTERS].rstrip("-")


def suggested_name(plugin_id: str) -> str:
    """Return the name that an id suggests."""
    return plugin_id.replace("-", " ").capitalize()


def check_empty(root: Path) -> None:
    """
    Check that nothing would be replaced; a repository without files is empty.

    :raise CommandError: There is something, or the directory cannot be read.
    """
    try:
        found = {path.name for path in root.iterdir()} - {GIT_FOLDER}
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise CommandError(f"{root} is not a directory") from None
    except OSError as e:
        raise CommandError(f"{root} cannot be read: {e.strerror}") from None
    if found:
        raise CommandError(f"{root} is not empty; new never replaces anything")


def create(root: Path, plugin: NewPlugin, profile: HostProfile, host: Path) -> None:
    """
    Create a plugin in an empty git repository.

    :param root: Empty, or not there.
    :param host: The host's sources, which need not be there yet.
    :raise CommandError: A value breaks a rule, and nothing was written; or something
        cannot be written.
    """
    if not plugin.holder.isprintable():
        raise CommandError("--author: no control characters")
    contents = _filled(plugin)
    try:
        check_new_id(plugin.id)
    except BridgeError as e:
        raise CommandError(f"{e.message}; choose another with --id") from None
    try:
        read_manifest(contents[MANIFEST_FILE], profile)
    except BridgeError as e:
        raise CommandError(e.message) from None
    check_empty(root)
    try:
        root.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(content)
        if not is_work_tree(root):
            git(root, "init", "--quiet", "--initial-branch=main")
    except OSError as e:
        raise CommandError(f"{root} cannot be written: {e.strerror}") from None
    # Where links need a privilege, the plugin is complete without it.
    with contextlib.suppress(OSError):
        (root / LINK).symlink_to(host)


def _filled(plugin: NewPlugin) -> dict[str, bytes]:
    """Return the files of the plugin by their paths."""
    words = plugin.words
    pattern = re.compile(f"({'|'.join(map(re.escape, words))})")
    filled = {}
    with as_file(files("bridge").joinpath("reference", "template")) as template:
        for path in sorted(p for p in template.rglob("*") if p.is_file()):
            inside = path.relative_to(template)
            name = "/".join(_NAMES.get(part, part) for part in inside.parts)
            is_code = name.endswith((".json", ".ts"))
            pieces = pattern.split(path.read_text("utf-8"))
            pieces[1::2] = [
                _in_quotes(words[word]) if is_code else words[word]
                for word in pieces[1::2]
            ]
            filled[name] = "".join(pieces).encode()
    return filled


def _in_quotes(word: str) -> str:
    """Return a word as JSON and TypeScript write it between quotes."""
    return dumps(word).decode()[1:-1]
