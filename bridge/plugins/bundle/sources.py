"""
What the bundler reads: plugins and the table from memory, the host from the disk.

Of a plugin it gets what was verified, whatever is on the disk by then.  It follows
``sourceMappingURL`` comments without an entry in its metafile, so a map, which may
bring in a file from anywhere, or one that never was, may name only what was read.
The functions block.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import orjson

from ...classes import frozen
from ...datadir.ownership import NotOwnError, check
from ...protocol.limits import BUILD_BUNDLE_BYTES, MIB
from ...protocol.text import shown
from ...system.files import NotRegularError, read_bounded
from .metafile import API_TEXT, PACKAGES, PLUGINS, BuildError, read_json

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
        folders = {folder for path in of_plugins for folder in _folders(path)}
        for path in sorted(f"{folder}/{PACKAGE}" for folder in folders):
            found = None
            with contextlib.suppress(OSError):
                found = read_bounded(f"{self.root}{os.sep}{path}", BUILD_BUNDLE_BYTES)
            if found != self.files.get(path):
                raise BuildError(f"{shown(path)} was changed during the build")


def is_utf8(content: bytes) -> bool:
    """Whether a text is UTF-8."""
    try:
        for _ in _decoded(content):
            pass
    except UnicodeDecodeError:
        return False
    return True


def _decoded(content: bytes) -> Iterator[str]:
    """
    Decode a text in pieces, between which other threads have their turn.

    :raise UnicodeDecodeError: It is not UTF-8.
    """
    decode = codecs.getincrementaldecoder("utf-8")().decode
    for at in range(0, len(content) + 1, MIB):
        yield decode(content[at : at + MIB], final=at + MIB > len(content))


def _folders(path: str) -> Iterator[str]:
    """List the directories of a plugin that a file is in."""
    folder = path.rpartition("/")[0]
    while folder.startswith(PLUGINS):
        yield folder
        folder = folder.rpartition("/")[0]


@frozen
class SourceMap:
    """
    A source map that was checked.

    :ivar text: It, as a file.
    :ivar shares: How many bytes of it are sources of each plugin, by its directory.
    """

    text: bytes
    sources: list[str]
    mappings: str
    shares: Mapping[str, int]


@frozen
class Bundle:
    """
    A script that was checked, and its source map.

    :ivar warnings: What the bundler warned of, as far as it may be shown.
    """

    script: bytes
    map: SourceMap
    warnings: str = ""


def check_map(
    text: bytes, directory: str, inputs: Collection[str], read: Callable[[str], bytes]
) -> SourceMap:
    """
    Check that a map names the sources of a bundle and nothing else, and add their text.

    The bundler's own is not read: that of a large file would hold the interpreter.  A
    package of the host may have a map of its own: its sources are not among the files
    the bundler read, so they keep their name, and have no text.

    :param text: As the bundler wrote it.
    :param directory: Where its sources are named from, relative to the data directory.
    :param inputs: The files the bundler read, relative to the data directory, with
        ``/``.
    :param read: Returns the bytes of such a file.
    :raise BuildError: A source is no part of the bundle, or is not UTF-8.
    """
    fields = read_json(text)
    contents, shares = [], Counter[str]()
    for source in fields["sources"]:
        name = posixpath.normpath(posixpath.join(directory, unquote(source)))
        if name in inputs:
            contents.append(_quoted(name, read(name)))
            if name.startswith(PLUGINS):
                shares[name.split("/")[1]] += len(contents[-1])
        elif name.startswith(PACKAGES):
            contents.append(b"null")
        else:
            raise _foreign(inputs, read)
    fields.pop("sourcesContent", None)
    added = b',"sourcesContent":[' + b",".join(contents) + b"]}"
    text = orjson.dumps(fields).removesuffix(b"}") + added
    return SourceMap(text, fields["sources"], fields["mappings"], shares)


def _quoted(name: str, content: bytes) -> bytes:
    with contextlib.suppress(UnicodeDecodeError):  # which would keep the content
        pieces = [orjson.dumps(piece)[1:-1] for piece in _decoded(content)]
        return b'"' + b"".join(pieces) + b'"'
    raise BuildError(f"{shown(name)} is not UTF-8")


def _foreign(inputs: Collection[str], read: Callable[[str], bytes]) -> BuildError:
    """Return an error without the name, which the author of the map chose."""
    what = "the source map holds a source that is no part of the bundle"
    for name in sorted(inputs):
        if name.startswith(PLUGINS) and b"sourceMappingURL" in read(name):
            return BuildError(f"{what}: {shown(name)} has a sourceMappingURL comment")
    return BuildError(what)
