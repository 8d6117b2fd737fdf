"""
What the bundler reads: plugins and the table from memory, the host from the disk.

Of a plugin it gets what was verified, whatever is on the disk by then.  The table is
generated: it imports every installed plugin, as TypeScript.  The functions block.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from ...classes import frozen
from ...datadir.paths import LINKED, NotOwnError, check
from ...protocol.limits import BUILD_BUNDLE_BYTES
from ...protocol.strictjson import dumps
from ...protocol.text import shown
from ...system.files import NotRegularError, read_bounded
from ..tree.manifest import ENTRY_FILE, MANIFEST_FILE, is_usable_id
from .metafile import API_TEXT, PLUGINS, BuildError, Bundle

HOST: Final = "host/"
PACKAGE: Final = "package.json"

# By Yarn's list of packages the bundler would look for the host's: a build has none.
_YARN: Final = (".pnp.data.json", ".pnp.cjs", ".pnp.js")

# The kinds that an import may ask for by an attribute.
_ASKED: Final = {"json": "json", "text": "text", "bytes": "binary"}

# In the place of any other file: the check of what was read, or of the source map, will
# refuse it, in better words, and nothing of it can be quoted.
_NOTHING: Final = {"contents": b"module.exports = {}", "loader": "js"}


@frozen
class Sources:
    """
    The files of one build.

    :ivar root: The data directory's real path: the bundler knows files by theirs.
    :ivar files: Those in memory, by their path relative to the root, with ``/``.
    :ivar unreadable: Which of them are not UTF-8.
    """

    root: str
    files: dict[str, bytes]
    unreadable: Collection[str] = ()

    @property
    def asked_for(self) -> str:
        """
        What the bundler asks for before it reads a file, as a regular expression: every
        path outside of the host's directory, whose files it reads itself.
        """
        host = f"{self.root}{os.sep}{HOST[:-1]}{os.sep}"
        # The syntax, Go's, has no negation: a path differs somewhere, or ends before.
        differing = [
            f"^{re.escape(host[:at])}([^{re.escape(letter)}]|$)"
            for at, letter in enumerate(host)
        ]
        return "|".join(differing)

    def reply(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer what the bundler asks while it builds."""
        if asked["command"] == "on-load":
            return self.load(asked)
        if asked["command"] == "on-resolve":
            place = os.path.join(self.root, *API_TEXT.split("/"))
            return {"id": asked["ids"][0], "path": place}
        return {"errors": [], "warnings": []}

    def load(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer the bundler, which has found a file and is going to read it."""
        path = asked["path"].removeprefix(self.root + os.sep).replace(os.sep, "/")
        loaded: dict[str, Any] = {"id": asked["ids"][0]}
        content = self.files.get(path)
        kind = asked["with"].get("type")
        # Sources of a map have to be UTF-8, and the bundler never ends writing the map
        # of one whose last character is cut off.
        if content is None or path in self.unreadable:
            return loaded | _NOTHING
        return loaded | {"contents": content, "loader": _ASKED.get(kind, "default")}

    def read(self, path: str) -> bytes:
        """
        Read a file.

        :param path: Relative to the root, with ``/``.
        :raise BuildError: It is a link, or no file.
        :raise OSError: There is none, or it can't be read.
        """
        content = self.files.get(path)
        if content is not None:
            return content
        if not path.startswith(HOST):
            raise FileNotFoundError(path)
        try:
            return read_bounded(f"{self.root}{os.sep}{path}", BUILD_BUNDLE_BYTES)
        except NotRegularError:
            raise BuildError(f"{shown(path)} is not a regular file") from None

    def check_above(self) -> None:
        """
        Check what the bundler reads in the directories above, too, and their names.

        :raise BuildError: Naming a package that another user may have written, or a
            list of packages; or the bundler would read other names.
        """
        if os.sep == "/" and "\\" in self.root:
            raise BuildError(
                f"the bundler reads each backslash in {shown(self.root)} as a slash; "
                "choose another data directory"
            )
        folders = (Path(self.root), *Path(self.root).parents)
        try:
            for folder in folders:
                check(folder / PACKAGE)
        except NotOwnError as e:
            raise BuildError(str(e)) from None
        for path in (folder / name for folder in folders for name in _YARN):
            if os.path.lexists(path):
                raise BuildError(
                    f"{path} says where packages are, and the host's would be looked "
                    "for there; remove it, or choose another data directory"
                )

    def check_packages(self, inputs: Collection[str]) -> None:
        """
        Check that the packages of plugins' files are still those that were verified:
        what an import leads to is looked up on the disk.

        :param inputs: The files that were read.
        :raise BuildError: Naming one that is another.
        """
        of_plugins = [path for path in inputs if path.startswith(PLUGINS)]
        folders = {one for path in of_plugins for one in PurePosixPath(path).parents}
        packages = {
            f"{folder}/{PACKAGE}" for folder in folders if len(folder.parts) > 1
        }
        for path in sorted(packages):
            found = None
            with contextlib.suppress(OSError):
                found = read_bounded(f"{self.root}{os.sep}{path}", BUILD_BUNDLE_BYTES)
            if found != self.files.get(path):
                raise BuildError(f"{shown(path)} was changed during the build")


_HEADER: Final = "// Generated by plugin-bridge. Do not edit."

# TypeScript may import what nothing exports, as it may be a type.  Such a name gets a
# short one that nothing declares, but none that is mentioned: this one is the window.
_RESERVED: Final = "() => top;"


@frozen
class Text:
    """
    A plugin as a text of the table.

    :ivar fields: TypeScript: its script and what a map needs.
    :ivar size: How many bytes of a bundle or its map it takes.
    """

    fields: bytes
    size: int


@frozen
class Table:
    """
    A table, and the files that it imports, relative to the data directory.

    :ivar text: TypeScript.
    """

    text: bytes
    imports: frozenset[str]


def plugin_of(directory: str) -> str:
    """Return the id of the plugin whose tree is in a directory below ``plugins/``."""
    return directory.removeprefix(LINKED)


def module_table(directories: Iterable[str]) -> Table:
    """
    Write the table of plugins that are modules of the bundle, by id.

    :param directories: Names below ``plugins/``: ids, or those of linked trees.
    :raise ValueError: Something is not a plugin id.  Callers have checked; this is
        the last place before a name becomes code.
    """
    lines, entries, imports = [_HEADER, _RESERVED], [], []
    for n, directory in enumerate(_ordered(directories)):
        entry, manifest = (
            f"plugins/{directory}/{file}" for file in (ENTRY_FILE, MANIFEST_FILE)
        )
        lines.append(f"import p{n} from '../{entry}';")
        lines.append(f"import m{n} from '../{manifest}';")
        entries.append(f"{{ manifest: m{n}, plugin: p{n} }}")
        imports += [entry, manifest]
    lines.append(f"export const COMPILED_PLUGINS = [{', '.join(entries)}] as const;")
    return Table("\n".join([*lines, ""]).encode(), frozenset(imports))


def text_of(one: Bundle) -> Text:
    """
    Write a plugin for the table.

    :param one: Of the plugin alone: a script that assigns what it exports to
        ``plugin``.
    """
    source_map = {"sources": one.map.sources, "mappings": one.map.mappings}
    text = dumps(one.script.decode())
    fields = b"text: %b, map: %b" % (text, dumps(source_map))
    # The table is a source of the bundle's map.
    size = len(dumps(fields.decode()))
    return Text(fields, max([size, *one.map.shares.values()]))


def text_table(texts: Mapping[str, Text], runtime: bytes) -> Table:
    """
    Write the table of plugins that are texts in the bundle, by id.

    :param texts: By the plugin's directory, see ``module_table``.
    :param runtime: The script that has to run before a plugin's.
    :raise ValueError: See ``module_table``.
    """
    lines, rows, imports = [_HEADER.encode()], [], []
    for n, directory in enumerate(_ordered(texts)):
        manifest = f"plugins/{directory}/{MANIFEST_FILE}"
        lines.append(f"import m{n} from '../{manifest}';".encode())
        rows.append(b"  { manifest: m%d, %b },\n" % (n, texts[directory].fields))
        imports.append(manifest)
    lines.append(b"export const COMPILED_PLUGINS = [\n%b] as const;" % b"".join(rows))
    lines.append(b"export const REALM_RUNTIME = %b;\n" % dumps(runtime.decode()))
    return Table(b"\n".join(lines), frozenset(imports))


def _ordered(directories: Iterable[str]) -> list[str]:
    ordered = sorted(directories, key=plugin_of)
    if not all(is_usable_id(plugin_of(directory)) for directory in ordered):
        raise ValueError("not a plugin id")
    return ordered
