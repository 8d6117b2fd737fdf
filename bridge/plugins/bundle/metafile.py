"""
Validates what the bundler read, by the metafile and the source map it wrote.

Every file of a bundle must be the host's, the generated table, or one of the bundled
plugins' own; and each may reach only what it has a right to.  What a plugin contributes
was scanned, and read as the kind of file it was scanned as.  The bundler follows
``sourceMappingURL`` comments without an entry in its metafile, so a map, which may
bring in a file from anywhere, or one that never was, may name only what was read.
Nothing here does I/O.
"""

from __future__ import annotations

import codecs
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import unquote

import orjson
from attrs import field

from ...classes import define, frozen
from ...datadir.paths import MADE, TABLE_FILE
from ...protocol.limits import BUILD_METAFILE_BYTES, MIB, SOURCE_BYTES
from ...protocol.text import shown
from ..esbuild.executable import BundlerError
from ..policy.reading import DATA_LOADERS, LOADERS, is_data_name, is_source_name
from ..tree.tree import EXEMPT, SIGNATURE_FILE, is_declaration_name, is_test_name

API: Final = "host/packages/api/src/"
HOST: Final = "host/packages/"
PACKAGES: Final = "host/node_modules/"
PLUGINS: Final = "plugins/"

API_TEXT: Final = f"{MADE}plugin-api.js"
"""What stands for the API's module where a plugin is bundled alone."""

PATTERN: Final = "*"
"""In what stands for all the files that an import with a computed name may mean."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9@._/-]{1,100}")
# Possessive, or a megabyte of blanks would take hours.
_IMPORTS: Final = rb"\b(?:from|import|require)\s*+\(?+\s*+"
_QUOTE: Final = rb"[\"'`]"

# A module that a package's `browser` map leaves out: an empty one stands for it.
_DISABLED: Final = "(disabled):"

_WITHIN: Final = (
    rf"(?:{re.escape(_DISABLED)})?(?!(?:.*/)?\.\.(?:/|\Z))(?!.*\.[cC][sS][sS]\Z)"
)
_ALONE: Final = rf"(?:{re.escape(TABLE_FILE)}|{re.escape(API_TEXT)})\Z"

# What a file of each area of the host may import; the host also imports the table.
_REACH: Final[dict[str | None, tuple[str, ...]]] = {
    API: (API, PACKAGES),
    HOST: (API, HOST, PACKAGES),
    PACKAGES: (PACKAGES,),
}

_NEITHER: Final = "which is neither source nor data; these are called " + ", ".join(
    f"NAME{suffix}" for suffix in (*LOADERS, *DATA_LOADERS)
)
_FOREIGN: Final = (
    "; a bundle holds only the host, the generated table and the bundled plugins' own "
    "files"
)
_STYLES: Final = (
    ", which is a style sheet; a bundle is one script, so styles belong into it as text"
)


class BuildError(BundlerError):
    """Why there is no new bundle; one readable sentence for the build report."""


@frozen
class Edge:
    """
    An import, as the bundler reports it.

    :ivar importer: The file it is in, relative to the data directory, with ``/``.
    :ivar target: The file it leads to, or the specifier when it leads to none.
    :ivar specifier: What is written in the importer.
    :ivar external: Whether it leads to no file.
    """

    importer: str
    target: str
    specifier: str
    external: bool


def read_json(text: bytes) -> Any:
    """
    Read what the bundler wrote.

    :raise BuildError: It is no JSON: a plugin can have half of a surrogate pair in it.
    """
    with suppress(orjson.JSONDecodeError):
        # It holds a copy of the text, so it must not be an exception's context.
        return orjson.loads(text)
    raise BuildError("what the bundler says of the bundle cannot be read")


def _named(key: str, about: dict[str, Any]) -> str:
    # The bundler adds this where the same file was read in another way, too.
    return key.removesuffix(f" with {{ type: '{about['with'].get('type')}' }}")


@define(eq=False)
class Rules:
    """
    What one bundle may be made of.

    :ivar entry: The file that it begins with.
    :ivar outputs: The names of the files the bundler was to write.
    :ivar plugins: The directories of its plugins below ``plugins/``.
    :ivar shared: What every plugin may import: a file, or an area as the start of a
        path.
    :ivar table: The files that the generated table imports.
    :ivar read: Returns the bytes of a file that the bundler may have read, or raises
        ``OSError``; of a plugin's files there are only those that were verified.
    """

    entry: str
    outputs: Collection[str]
    plugins: Collection[str]
    shared: str
    table: Collection[str]
    read: Callable[[str], bytes]
    # All that was read, and whether it is a module.
    _files: dict[str, bool] = field(factory=dict, init=False)
    # What an import has asked for as JSON, text or bytes, whatever its name is.
    _as_data: set[str] = field(factory=set, init=False)
    _edges: list[Edge] = field(factory=list, init=False)
    # The area each file is in, as the start of its path.  A style sheet is in none.
    _areas: dict[str, str | None] = field(factory=dict, init=False)

    def check(self, metafile: bytes) -> dict[str, bool]:
        """
        Check everything a bundle was made of, once.

        :param metafile: Its paths are relative to the data directory.
        :return: The files the bundler read, relative to the data directory, with ``/``,
            and whether each is a module, so that the bundler took it for strict code.
        :raise BuildError: Naming the file that has no business in the bundle.
        """
        if len(metafile) > BUILD_METAFILE_BYTES:
            raise BuildError(f"the metafile is over {BUILD_METAFILE_BYTES} bytes")
        whole = read_json(metafile)
        for key, about in whole["inputs"].items():
            path = key
            if "with" in about:
                path = _named(key, about)
                self._as_data.add(path)
            self._files[path] = about.get("format") == "esm"
            for one in about["imports"]:
                target = _named(one["path"], one) if "with" in one else one["path"]
                written = one.get("original", one["path"])
                edge = Edge(path, target, written, one.get("external", False))
                self._edges.append(edge)
        plugins = (f"{PLUGINS}{directory}/" for directory in self.plugins)
        areas = "|".join(map(re.escape, (API, HOST, PACKAGES, *plugins)))
        area = re.compile(f"{_WITHIN}({areas}|{_ALONE})", re.DOTALL)
        for path in self._files.keys() | {edge.target for edge in self._edges}:
            found = area.match(path)
            self._areas[path] = found and found[1]
        for breach in self._breaches(whole["outputs"]):
            raise BuildError(breach)
        return {
            path: is_module
            for path, is_module in self._files.items()
            if not path.startswith(_DISABLED)
        }

    def _breaches(self, outputs: dict[str, Any]) -> Iterator[str]:
        """List what breaks a rule."""
        areas = self._areas
        inner = [edge for edge in self._edges if not edge.external]
        first = {edge.target: edge for edge in reversed(inner)}
        yield from self._left(outputs)
        others = {path for path, area in areas.items() if area not in _REACH}
        # The host may import by a pattern.
        for path in sorted(others & self._files.keys() - first.keys()):
            unnamed = ", which no import names" if path != self.entry else ""
            if words := self._why_not(path) or unnamed:
                yield f"the bundle may not include {_shown_path(path)}{words}"
        for path, edge in first.items():
            if path in others and (why := self._why_not(path)):
                yield f"{self._refusal(edge)}{why}"
        beyond = [
            edge
            for edge in inner
            if areas[edge.target] not in _REACH.get(areas[edge.importer], ())
        ]
        yield from (self._refusal(one) for one in beyond if not self._may_import(one))
        written = {path.rpartition("/")[2] for path in outputs}
        for name in sorted(written.difference(self.outputs)):
            yield (
                f"the bundler wrote {shown(name)} as well as the bundle; a bundle is "
                "one script, and nothing it imports may make further files"
            )

    def _left(self, outputs: dict[str, Any]) -> Iterator[str]:
        """
        Check the imports without a file: only the host may leave any to the browser.

        Among them are those that the language drops, and so the bundler: of types, and
        unused ones.  One of a computed name may bring in any number of files, without
        an import that names them.
        """
        left = {one["path"] for made in outputs.values() for one in made["imports"]}
        edges = [edge for edge in self._edges if edge.external]
        for edge in edges:
            if (self._areas[edge.importer] or "").startswith(PLUGINS):
                if PATTERN in edge.specifier:
                    yield f"{self._place(edge)} imports files by a pattern; name each"
                if edge.target in left:
                    what = specifier_shown(edge.specifier)
                    where = self._place(edge)
                    yield f"{where} imports {what}, which is not in the bundle"
        if left.difference(edge.target for edge in edges):
            yield "the bundle imports what no file of it imports"

    def _why_not(self, path: str) -> str | None:
        """Why a file outside the host may not be in the bundle, whatever imports it."""
        named, area = path.removeprefix(_DISABLED), self._areas[path]
        if named.lower().endswith(".css"):
            return _STYLES
        if area is None:
            # Nothing of a module that was left out is in the bundle; who may name one
            # outside every area is a question of the import.
            return _FOREIGN if named == path else None
        if not area.startswith(PLUGINS):
            return None
        why = _why_not(named.removeprefix(area), path in self._as_data)
        if why is None and named == path:
            try:
                self.read(path)
            except OSError:
                why = "which was not there when the plugin was verified"
        return why and f", {why}"

    def _may_import(self, edge: Edge) -> bool:
        """Whether what is not within the host may be imported."""
        area, to = self._areas[edge.importer] or "", self._areas[edge.target]
        if area == TABLE_FILE:
            return edge.target in self.table
        if to == TABLE_FILE:
            return area == HOST and edge.target == to  # it is not left out
        if area.startswith(PLUGINS):
            return to is not None and to in (self.shared, area)
        return to is None and edge.target.startswith(_DISABLED)

    def _refusal(self, edge: Edge) -> str:
        named = edge.target.removeprefix(_DISABLED)
        return f"{self._place(edge)} may not import {_shown_path(named)}"

    def _place(self, edge: Edge) -> str:
        return place_of(edge, self.read)


def _why_not(inside: str, as_data: bool) -> str | None:
    """
    Why a file of a plugin may not be in a bundle; ``None``: it may.

    None of these is scanned by the source policy as what the bundler reads it as, and
    what is git's and the signature are not signed.

    :param inside: Its path in the plugin's tree.
    :param as_data: Whether an import asked for it as JSON, text or bytes.
    """
    name, lower = inside.rpartition("/")[2], inside.lower()
    reasons = (
        ("?" in inside or "#" in inside, "with a query or a fragment"),
        (is_test_name(name), "which is a test file"),
        (is_declaration_name(name), "which is a declaration file"),
        (lower in EXEMPT, "which is a tool's file"),
        (".git" in lower.split("/"), "which is git's"),
        (inside == SIGNATURE_FILE, "which is the signature"),
        (as_data and is_source_name(name), "which is source, as data"),
        (not (is_source_name(name) or is_data_name(name)), _NEITHER),
    )
    return next((words for holds, words in reasons if holds), None)


def _shown_path(path: str) -> str:
    # Not a file: what the bundler calls the text of a data: URL.
    return "a data: URL" if path.startswith("<") else shown(path)


def place_of(edge: Edge, read: Callable[[str], bytes]) -> str:
    """
    Where an import is: the file, and the line when it can be found.

    :param read: Return a file's bytes.
    :return: ``file:line``, lines counted from 1, or ``file``.
    """
    try:
        text = read(edge.importer)[:SOURCE_BYTES]
    except OSError:
        text = b""
    known, pattern, _ = edge.specifier.partition(PATTERN)
    quoted = _QUOTE + re.escape(known.encode("utf-8", "replace"))
    if not pattern:
        quoted += _QUOTE
    # Behind anything else it may be a text that only looks the same.
    found = re.search(_IMPORTS + quoted, text) or re.search(quoted, text)
    if found is None:
        return shown(edge.importer)
    return f"{shown(edge.importer)}:{text.count(10, 0, found.end()) + 1}"


def specifier_shown(specifier: str) -> str:
    """Return a specifier as a message may repeat it: in quotes when it is plain."""
    return f'"{specifier}"' if _PLAIN.fullmatch(specifier) else "another module"


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
            written = quoted(read(name))
            if written is None:
                raise BuildError(f"{shown(name)} is not UTF-8")
            contents.append(written)
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


def quoted(content: bytes) -> bytes | None:
    """
    Write a text as JSON, in pieces, between which other threads have their turn.

    :param content: UTF-8; the result is ``None`` when it is not.
    """
    decode = codecs.getincrementaldecoder("utf-8")().decode
    pieces = []
    try:
        for at in range(0, len(content) + 1, MIB):
            text = decode(content[at : at + MIB], final=at + MIB > len(content))
            pieces.append(orjson.dumps(text)[1:-1])
    except UnicodeDecodeError:  # it would keep the content
        return None
    return b'"' + b"".join(pieces) + b'"'


def is_utf8(content: bytes) -> bool:
    """Whether a text is UTF-8; written as JSON it may take six times the memory."""
    decode = codecs.getincrementaldecoder("utf-8")().decode
    with suppress(UnicodeDecodeError):
        for at in range(0, len(content) + 1, MIB):
            decode(content[at : at + MIB], final=at + MIB > len(content))
        return True
    return False


def _foreign(inputs: Collection[str], read: Callable[[str], bytes]) -> BuildError:
    """Return an error without the name, which the author of the map chose."""
    what = "the source map holds a source that is no part of the bundle"
    for name in sorted(inputs):
        if name.startswith(PLUGINS) and b"sourceMappingURL" in read(name):
            return BuildError(f"{what}: {shown(name)} has a sourceMappingURL comment")
    return BuildError(what)
