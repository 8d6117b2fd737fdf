"""
Validates what the bundler read, by the metafile it wrote.

Every file of a bundle must be the host's, the generated table, or one of the bundled
plugins' own; and each may reach only what it has a right to.  What a plugin contributes
was scanned, and read as the kind of file it was scanned as.  Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from attrs import Factory, frozen

from ....protocol.limits import BUILD_BUNDLE_BYTES
from ...esbuild.executable import BundlerError
from ...esbuild.language import DATA_LOADERS, LOADERS, is_data_name, is_source_name
from ...tree.exempt import EXEMPT, is_test_name
from ...tree.files import shown
from ...tree.manifest import ENTRY_FILE, MANIFEST_FILE
from ...tree.tree import SIGNATURE_FILE
from ..plugintable import BOUND, BOUND_ENTRY, FREEZE_FILE, TABLE_FILE
from .parsing import Input, Metafile, parse_metafile
from .places import PATTERN, Edge, place_of, specifier_shown

API: Final = "host/packages/api/src/"
HOST: Final = "host/packages/"
PACKAGES: Final = "host/node_modules/"
PLUGINS: Final = "plugins/"

_BOUND: Final = f"{BOUND}/"

# A module that a package's `browser` map leaves out: an empty one stands for it.
_DISABLED: Final = "(disabled):"

# What a file of each area may import; a plugin's own area and `API` are a plugin's.
_REACH: Final = {
    API: (API, PACKAGES),
    HOST: (API, HOST, PACKAGES, TABLE_FILE),
    PACKAGES: (PACKAGES,),
}

_NEITHER: Final = "which is neither source nor data; these are called " + ", ".join(
    f"NAME{suffix}" for suffix in (*LOADERS, *DATA_LOADERS)
)
_STYLES: Final = (
    "which is a style sheet; a bundle is one script, so styles belong into it as text"
)


TOO_LARGE: Final = f"the bundle or its map is over {BUILD_BUNDLE_BYTES} bytes"


class BuildError(BundlerError):
    """Why there is no new bundle; one readable sentence for the build report."""


def check_metafile(
    text: bytes,
    plugins: Collection[str],
    outputs: Collection[str],
    read: Callable[[str], bytes],
    bound: bool,
) -> frozenset[str]:
    """
    Check everything a bundle was made of.

    :param text: The metafile, its paths relative to the data directory.
    :param plugins: The directories of this build's plugins below ``plugins/``.
    :param outputs: The names of the files the bundler was to write.
    :param read: Return the bytes of a file it read; used to find the line of an import
        that is refused.
    :param bound: Whether it is made of bound plugins, and of nothing else of theirs but
        their manifests.
    :return: The files it read, relative to the data directory, with ``/``.
    :raise BuildError: Naming the file that has no business in the bundle.
    """
    given = _parsed(text)
    if not given.inputs:
        raise BuildError("the bundler's metafile names no inputs")
    rules = _Rules(frozenset(plugins), read, _first(given), bound=bound)
    rules.check(given, given.left)
    _check_outputs(given.outputs, outputs)
    return _files(given)


def _parsed(text: bytes) -> Metafile:
    try:
        return parse_metafile(text)
    except ValueError:
        raise BuildError("the bundler's metafile cannot be read") from None


def _first(given: Metafile) -> dict[str, Edge]:
    return {edge.target: edge for edge in reversed(given.edges)}


def _files(given: Metafile) -> frozenset[str]:
    paths = (file.path for file in given.inputs)
    return frozenset(path for path in paths if not path.startswith(_DISABLED))


def check_alone(
    text: bytes,
    plugins: Collection[str],
    api: str,
    read: Callable[[str], bytes],
) -> frozenset[str]:
    """
    Check what plugins were made of that are bundled without the host, each alone.

    :param text: The metafile, its paths relative to the data directory.
    :param plugins: See ``check_metafile``.
    :param api: The module that is left for the host's bundle.
    :param read: See ``check_metafile``.
    :return: The files that were read; each is its plugin's own.
    :raise BuildError: Naming the file that has no business in a plugin's bundle.
    """
    given = _parsed(text)
    entries = frozenset(f"{PLUGINS}{plugin}/{ENTRY_FILE}" for plugin in plugins)
    rules = _Rules(frozenset(plugins), read, _first(given), entries, shared=())
    rules.check(given, given.left - {api})
    return _files(given)


def _check_outputs(written: Collection[str], wanted: Collection[str]) -> None:
    names = {path.rpartition("/")[2] for path in written}
    extra = sorted(names - set(wanted))
    if extra:
        raise BuildError(
            f"the bundler wrote {shown(extra[0])} as well as the bundle; a bundle is "
            "one script, and nothing it imports may make further files"
        )


@frozen
class _Rules:
    """
    The rules for a bundle of these plugins.

    :ivar first: The first import of each file.
    :ivar entries: The files that no import has to name.
    :ivar shared: The areas that every plugin may import from.
    :ivar bound: See ``check_metafile``.
    """

    plugins: frozenset[str]
    read: Callable[[str], bytes]
    first: dict[str, Edge]
    entries: frozenset[str] = frozenset()
    shared: tuple[str, ...] = (API,)
    bound: bool = False
    _areas: dict[str, str | None] = Factory(dict)

    def check(self, given: Metafile, left: Collection[str]) -> None:
        """
        Check every file and every import.

        :param left: What is left for the browser to import that should not be.
        """
        self.check_patterns(given.edges)
        for file in given.inputs:
            self.check_input(file)
        self.check_edges([edge for edge in given.edges if not edge.external])
        self.check_left([edge for edge in given.edges if edge.external], left)

    def check_patterns(self, edges: Collection[Edge]) -> None:
        """
        Check that plugins have no import of a computed name.

        It may bring in any number of files, without an import that names them.
        """
        for edge in edges:
            pattern = edge.external and PATTERN in edge.specifier
            if pattern and self._is_plugins(edge.importer):
                where = self._place(edge)
                raise BuildError(f"{where} imports files by a pattern; name each")

    def check_input(self, given: Input) -> None:
        """Check that a file may be in the bundle at all."""
        named = given.path.removeprefix(_DISABLED)
        area = self._area(named)
        if area is None:
            # Nothing of a module that was left out is in the bundle; who may name one
            # outside every area is a question of the import.
            if named == given.path:
                raise self._refusal(
                    given.path,
                    "a bundle holds only the host, the generated table and the bundled "
                    "plugins' own files",
                    mark=";",
                )
        elif named.lower().endswith(".css"):
            raise self._refusal(given.path, _STYLES)
        elif area.startswith(PLUGINS):
            why = _why_not(named.removeprefix(area), given.as_data)
            imported = given.path in self.first or given.path in self.entries
            if why is None and not imported:
                why = "which no import names"
            if why is not None:
                raise self._refusal(given.path, why)

    def check_edges(self, edges: Collection[Edge]) -> None:
        """Check every import of a file."""
        for edge in edges:
            if not self._may_import(edge):
                raise self._refusal_of(edge)

    def check_left(self, edges: Collection[Edge], left: Collection[str]) -> None:
        """
        Check the imports that are left for the browser: only the host may have any.

        :param edges: Every import without a file.  Among them are those that the
            language drops, and so the bundler: of types, and unused ones.
        :param left: What is really left.
        """
        for edge in edges:
            if edge.target in left and self._is_plugins(edge.importer):
                what, where = specifier_shown(edge.specifier), self._place(edge)
                raise BuildError(f"{where} imports {what}, which is not in the bundle")
        if not {edge.target for edge in edges}.issuperset(left):
            raise BuildError("the bundle imports what no file of it imports")

    def _is_plugins(self, path: str) -> bool:
        area = self._area(path.removeprefix(_DISABLED))
        return area is not None and area.startswith((PLUGINS, _BOUND))

    def _may_import(self, edge: Edge) -> bool:
        area = self._area(edge.importer.removeprefix(_DISABLED))
        named = edge.target.removeprefix(_DISABLED)
        to = self._area(named)
        made = area is not None and area.startswith((TABLE_FILE, _BOUND))
        if made and named != edge.target:
            return False  # nothing is left out of what was made for the bundle
        if area == TABLE_FILE:
            return self._in_table(named, to)
        if area is not None and area.startswith((PLUGINS, _BOUND)):
            return to is not None and to in (*self.shared, area)
        if to is None:
            return named != edge.target
        return to in _REACH.get(area or "", ())

    def _in_table(self, path: str, area: str | None) -> bool:
        if path == FREEZE_FILE:
            return True
        if area is None:
            return False
        if area.startswith(_BOUND):
            return self.bound and path == area + BOUND_ENTRY
        files = (MANIFEST_FILE,) if self.bound else (ENTRY_FILE, MANIFEST_FILE)
        return path in {area + name for name in files}

    def _area(self, path: str) -> str | None:
        """See ``_area``; each file is asked for by every import of it."""
        if path not in self._areas:
            self._areas[path] = _area(path, self.plugins)
        return self._areas[path]

    def _refusal(self, path: str, why: str, mark: str = ",") -> BuildError:
        edge = self.first.get(path)
        if edge is None:
            return BuildError(
                f"the bundle may not include {_shown_path(path)}{mark} {why}"
            )
        return BuildError(f"{self._refusal_of(edge)}{mark} {why}")

    def _refusal_of(self, edge: Edge) -> BuildError:
        named = edge.target.removeprefix(_DISABLED)
        return BuildError(f"{self._place(edge)} may not import {_shown_path(named)}")

    def _place(self, edge: Edge) -> str:
        return place_of(edge, self.read)


def _area(path: str, plugins: Collection[str]) -> str | None:
    """The area a file is in, as the start of its path; ``None`` for no area."""
    if path in (TABLE_FILE, FREEZE_FILE):
        return path
    if ".." in path and ".." in path.split("/"):
        return None
    for area in (API, HOST, PACKAGES):
        if path.startswith(area):
            return area
    for start in (PLUGINS, _BOUND):
        if path.startswith(start):
            plugin_id, slash, _ = path[len(start) :].partition("/")
            return f"{start}{plugin_id}/" if slash and plugin_id in plugins else None
    return None


def _why_not(inside: str, as_data: bool) -> str | None:
    """
    Why a file of a plugin may not be in a bundle; ``None``: it may.

    None of these is scanned by the source policy as what the bundler reads it as, and
    what is git's and the signature are not signed.

    :param inside: Its path in the plugin's tree.
    :param as_data: See ``Input``.
    """
    name, lower = inside.rpartition("/")[2], inside.lower()
    reasons = (
        ("?" in inside or "#" in inside, "with a query or a fragment"),
        (is_test_name(name), "which is a test file"),
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
