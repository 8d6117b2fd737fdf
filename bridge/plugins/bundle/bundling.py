"""
What is asked of the bundler, and what it reads: the host's bundle, and those of plugins
alone.

It gets plugins and the table from memory: of a plugin what was verified, whatever is on
the disk by then.  It reads the host from the disk.  Nothing that it makes is there:
outputs and metafile come back in the answer.  The methods of ``Sources`` block.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from pathlib import Path, PurePosixPath
from typing import Any, Final

from attrs import field

from ...classes import frozen
from ...datadir.ownership import NotOwnError, check
from ...datadir.paths import API_ENTRY, HOST_ENTRY, MADE, REALM_ENTRY, TABLE_FILE
from ...protocol import limits
from ...protocol.text import printable, shown
from ...settings.host import HostProfile
from ...system.files import NotRegularError, read_bounded
from ..esbuild.conversation import Conversation, Limits
from ..policy.reading import (
    DATA_LOADERS,
    LOADERS,
    TARGET,
    TSCONFIG_RAW,
    Answer,
    Source,
    is_source_name,
    loader_arguments,
    read,
    suffix_of,
    transform,
)
from ..tree.manifest import ENTRY_FILE
from .metafile import API, API_TEXT, PLUGINS, BuildError, Bundle, Rules, check_map

HOST: Final = "host/"
PACKAGE: Final = "package.json"

BUILD_LIMITS: Final = Limits(
    limits.BUILD_SECONDS,
    limits.BUILD_CPU_SECONDS,
    limits.BUILD_WRITTEN_BYTES,
    limits.BUILD_MEMORY_BYTES,
)

_EVERY_BUNDLE: Final = (
    "--bundle",
    "--format=iife",
    f"--target={TARGET}",
    # Otherwise a plugin's own tsconfig.json would take part.
    f"--tsconfig-raw={TSCONFIG_RAW}",
    *loader_arguments(),
    "--platform=browser",
    "--metafile",
    "--sources-content=false",
    "--log-level=silent",
)


# For authors: the bundler names options and formats, which only the daemon chooses.
_ADVICE: Final = {
    re.compile(r'No loader is configured for "(.+)" files: .*'): (
        rf"a \1 file cannot be imported, only {', '.join([*LOADERS, *DATA_LOADERS])}"
    ),
    re.compile(r'(Could not resolve "[^./][^"]*")'): (
        r"\1, which is neither the host's API nor in the plugin; copy the sources of a "
        "package into the plugin, and import them by a relative path"
    ),
    re.compile("Top-level await is .* output format"): (
        "await cannot be used at the top level; use it in activate"
    ),
}

# A message quotes the file it is about.  A plugin can make the bundler read a file of
# any directory (as a ``package.json`` that it is led to), so that only what is about a
# file of the host or of a plugin is shown.
HIDDEN: Final = (
    "a file outside the host and the plugins was read; it is not quoted here"
)

# Names are not looked at here, so that any will do.
_MARK: Final = "$"
_MINIFY: Final = "--minify"

_AREAS: Final = (HOST, PLUGINS, MADE)
_QUOTED_CHARACTERS: Final = 160


_FILE_BYTES: Final = limits.BUILD_BUNDLE_BYTES
"""Of a file of the host, at most: a bundle holds more than one."""

# By Yarn's list of packages the bundler would look for the host's: a build has none.
_YARN: Final = (".pnp.data.json", ".pnp.cjs", ".pnp.js")

# The kinds that an import may ask for by an attribute.
_ASKED: Final = {"json": "json", "text": "text", "bytes": "binary"}

# In the place of any other file: the check of what was read, or of the source map, will
# refuse it, in better words, and nothing of it can be quoted.
_NOTHING: Final = {"contents": b"module.exports = {}", "loader": "js"}


@frozen
class Target:
    """
    A bundle that can be made.

    :ivar entry: The file that it begins with, relative to the data directory.
    :ivar outfile: The same of its script; what is in its map is named from there.
    :ivar api_module: What ``API_TEXT`` stands for, if it stands for anything: every
        plugin in it may import that then, and otherwise the API.
    """

    entry: str
    outfile: str
    flags: Sequence[str]
    api_module: str | None = None

    @classmethod
    def host(cls, profile: HostProfile) -> Target:
        """Return the host's bundle, whose flags hosts are written for."""
        flags = [
            *_EVERY_BUNDLE,
            _MINIFY,
            "--sourcemap=linked",
            f"--alias:{profile.api_module}=./{API_ENTRY}",
            f"--alias:{profile.table_module}=./{TABLE_FILE}",
        ]
        return cls(HOST_ENTRY, f"{profile.bundle_name}.js", flags)

    @classmethod
    def realm(cls, profile: HostProfile) -> Target:
        """Return what runs before a plugin that is a text."""
        alias = f"--alias:{profile.api_module}=./{API_ENTRY}"
        flags = [*_EVERY_BUNDLE, _MINIFY, "--sourcemap=external", alias]
        return cls(REALM_ENTRY, "realm.js", flags)

    @classmethod
    def plugin(cls, profile: HostProfile, directory: str) -> Target:
        """
        Return the bundle of a plugin alone.

        :param directory: The plugin's, below ``plugins/``.
        """
        path = f"{PLUGINS}{directory}"
        flags = [
            *_EVERY_BUNDLE,
            "--global-name=plugin",
            "--sourcemap=external",
            # That of a minified build.
            '--define:process.env.NODE_ENV="production"',
        ]
        entry, outfile = f"{path}/{ENTRY_FILE}", f"{path}/plugin.js"
        return cls(entry, outfile, flags, profile.api_module)


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
        if asked["command"] == "on-resolve":
            place = os.path.join(self.root, *API_TEXT.split("/"))
            return {"id": asked["ids"][0], "path": place}
        if asked["command"] != "on-load":
            return {"errors": [], "warnings": []}
        # It has found a file, and is going to read it.
        path = asked["path"].removeprefix(self.root + os.sep).replace(os.sep, "/")
        loaded: dict[str, Any] = {"id": asked["ids"][0]}
        content = self.files.get(path)
        kind = asked["with"].get("type")
        # Sources of a map have to be UTF-8.  That is said of one that is not, instead
        # of the bundler's words for its last line.
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
            return read_bounded(f"{self.root}{os.sep}{path}", _FILE_BYTES)
        except NotRegularError:
            raise BuildError(f"{shown(path)} is not a regular file") from None

    def check_places(self) -> None:
        """
        Check that the bundler finds each file by its name, and no packages of others.

        :raise BuildError: Naming a part of the data directory that is elsewhere, or
            above it a package that another user may have written, or a list of
            packages; or the bundler would read other names.
        """
        if os.sep == "/" and "\\" in self.root:
            raise BuildError(
                f"the bundler reads each backslash in {shown(self.root)} as a slash; "
                "choose another data directory"
            )
        for name in (PLUGINS, HOST, TABLE_FILE):
            place = os.path.join(self.root, name.partition("/")[0])
            if os.path.realpath(place) != place:
                raise BuildError(
                    f"{shown(place)} is a symbolic link, and the bundler would know "
                    "files by where it leads; mount the disk there, or choose another "
                    "data directory"
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
        below = sorted(str(one) for one in folders if len(one.parts) > 1)
        for path in (f"{folder}/{PACKAGE}" for folder in below):
            found = None
            with contextlib.suppress(OSError):
                found = read_bounded(f"{self.root}{os.sep}{path}", _FILE_BYTES)
            if found != self.files.get(path):
                raise BuildError(f"{shown(path)} was changed during the build")


@frozen
class Bundling:
    """
    Asks for bundles, and checks them.

    :ivar in_thread: Checks one in a thread.
    :ivar directories: The plugins', below ``plugins/``.
    """

    _conversation: Conversation
    _sources: Sources
    _in_thread: Callable[..., Awaitable[Any]]
    _directories: list[str]
    _keys: Iterator[int] = field(factory=itertools.count, init=False)

    async def bundle(self, target: Target, table: Collection[str] = ()) -> Bundle:
        """
        Make a bundle, and check it.

        :param table: The files that the generated table imports.
        :raise BuildError: It can't be made, in the bundler's words, or something has
            no business in it.
        """
        module = target.api_module
        plugin = {
            "name": "sources",
            "onStart": False,
            "onEnd": False,
            "onResolve": [_matching(f"^{re.escape(module)}$")] if module else [],
            "onLoad": [_matching(self._sources.asked_for) | {"namespace": "file"}],
        }
        request = {
            "command": "build",
            "key": next(self._keys),
            "entries": [["", target.entry]],
            "flags": [
                *target.flags,
                f"--outfile={self._sources.root}/{target.outfile}",
            ],
            "write": False,
            "stdinContents": None,
            "stdinResolveDir": None,
            "absWorkingDir": self._sources.root,
            "nodePaths": [],
            "context": False,
            "plugins": [plugin],
        }
        made = await self._conversation.ask(request)
        if made["errors"]:
            raise BuildError(f"esbuild failed:\n{shown_messages(made['errors'])}")
        bundle: Bundle
        bundle, others = await self._in_thread(self._checked, target, made, table)
        for path in others:
            await self._check_strict(path, target)
        return bundle

    async def _check_strict(self, path: str, target: Target) -> None:
        """
        Check that what is made of a source is strict code, as all of a bundle is.

        The bundler looks for that in modules alone.  Those that came with the directory
        of an earlier daemon were never scanned, and no page could read a bundle with
        one of them that is not.  Most of what only sloppy code may have is gone from
        what is made: an octal number is written as a decimal one.

        :raise BuildError: Naming the line that is not.
        """
        content = self._sources.read(path)
        flags = [
            f"--target={TARGET}",
            f"--loader={LOADERS[suffix_of(path)]}",
            "--log-level=silent",
            *(flag for flag in target.flags if flag == _MINIFY),
        ]
        made = await transform(self._conversation, content, flags)
        answer = await self._read_strictly("made.js", made.code.encode())
        if answer.error_line:
            found = await self._read_strictly(path, content)
            where = f"{shown(path)}:{found.error_line or 1}"
            raise BuildError(f"esbuild failed:\n{where}: {found.error or answer.error}")

    async def _read_strictly(self, name: str, content: bytes) -> Answer:
        source = Source(name, content, lambda _: frozenset())
        return await read(
            self._conversation, source, _MARK, self._in_thread, is_mapped=False
        )

    def _checked(
        self, target: Target, made: Mapping[str, Any], table: Collection[str]
    ) -> tuple[Bundle, list[str]]:
        """
        Check what was made; blocks.

        :return: It, and the sources of plugins in it that are no modules.
        """
        folder, _, name = target.outfile.rpartition("/")
        written = (name, f"{name}.map")
        read = self._sources.read
        shared = API_TEXT if target.api_module else API
        rules = Rules(target.entry, written, self._directories, shared, table, read)
        inputs = rules.check(made["metafile"])
        files = {
            os.path.basename(o["path"]): o["contents"] for o in made["outputFiles"]
        }
        script, source_map = (bytes(files[one]) for one in written)
        checked = check_map(source_map, folder, inputs, read)
        if max(len(script), len(checked.text)) > limits.BUILD_BUNDLE_BYTES:
            raise BuildError(
                f"the bundle or its map is over {limits.BUILD_BUNDLE_BYTES} bytes"
            )
        self._sources.check_packages(inputs)
        others = [
            path
            for path, is_module in inputs.items()
            if path.startswith(PLUGINS) and is_source_name(path) and not is_module
        ]
        return Bundle(script, checked, shown_messages(made["warnings"])), others


def _matching(pattern: str) -> dict[str, Any]:
    return {"id": 0, "filter": pattern, "namespace": ""}


def shown_messages(messages: Iterable[Mapping[str, Any]]) -> str:
    """
    Write what the bundler reports, for the author of a plugin.

    :param messages: As its service has them.
    :return: For each ``file:line:column: text``, with the line; at most
        ``BUILD_OUTPUT_CHARACTERS``.
    """
    lines = dict.fromkeys(line for message in messages for line in _lines(message))
    text = "\n".join(lines)[: limits.BUILD_OUTPUT_CHARACTERS]
    return printable(text, "\n\t").strip()


def _lines(message: Mapping[str, Any]) -> Iterator[str]:
    place = message["location"]
    if place is None:
        yield str(message["text"])
        return
    if not _is_ours(place["file"]):
        yield HIDDEN
        return
    text = str(message["text"])
    if place["file"].startswith(PLUGINS):
        for pattern, words in _ADVICE.items():
            text = pattern.sub(words, text)
    yield _located(text, place)
    # Notes without a place give advice about the bundler's options, which only
    # the daemon chooses.
    for note in message["notes"]:
        if note["location"] is not None and _is_ours(note["location"]["file"]):
            yield _located(note["text"], note["location"])


def _located(text: str, place: Mapping[str, Any]) -> str:
    where = f"{place['file']}:{place['line']}:{place['column']}: {text}"
    quoted = place["lineText"][:_QUOTED_CHARACTERS].strip()
    return f"{where}\n    {quoted}" if quoted else where


def _is_ours(file: str) -> bool:
    # The bundler names files relative to the data directory.
    path = file.removeprefix("(disabled):")
    return path.startswith(_AREAS) and ".." not in path.split("/")
