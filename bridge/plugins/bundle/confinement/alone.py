"""
Each plugin alone: its own bundle, checked, and bound to a scope of its own.

This comes before the host's bundle, which imports the results instead of the plugins'
own files.  A plugin whose tree is still the one that was bound by an earlier build is
not bound again.  The functions block.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from attrs import Factory, define, field

from ....protocol.errors import BridgeError
from ....protocol.limits import (
    BUILD_BUNDLE_BYTES,
    BUILD_METAFILE_BYTES,
    MANIFEST_BYTES,
)
from ....protocol.strictjson import loads_unique
from ....settings.host import HostProfile
from ...esbuild.language import TARGET, TSCONFIG_RAW, loader_arguments
from ...policy.reader.encoding import PacketError
from ...policy.reader.service import TooComplexError
from ...tree.files import TooLargeError, read_bounded
from ...tree.manifest import DOM_FIELD, ENTRY_FILE, MANIFEST_FILE
from ...tree.tree import Tree, read_tree
from ..inputs.metafile import PLUGINS, TOO_LARGE, BuildError, check_alone
from ..plugintable import BOUND, BOUND_ENTRY, plugin_of
from .binding import SCOPE_FILE, Bindings, Unbound
from .boundfiles import API_FILE, Bound, BoundFiles
from .scope import scope_text

_API: Final = f"./{API_FILE}"
_OWN: Final = "own.js"
_METAFILE: Final = "own.json"


def own_arguments(
    profile: HostProfile, directories: Sequence[str], staging: Path
) -> list[str]:
    """
    What follows the bundler's name on the command line that bundles plugins alone.

    :param directories: Names below ``plugins/``.
    :param staging: Where the metafile goes.
    """
    stem = _OWN.removesuffix(".js")
    return [
        *(f"{name}/{stem}=plugins/{name}/{ENTRY_FILE}" for name in directories),
        "--bundle",
        "--format=esm",
        f"--target={TARGET}",
        f"--tsconfig-raw={TSCONFIG_RAW}",
        *loader_arguments(),
        "--platform=browser",
        # Those of a minified build, and of a bundle that is no module in the end.
        '--define:process.env.NODE_ENV="production"',
        "--supported:top-level-await=false",
        "--supported:import-meta=false",
        "--sourcemap=inline",
        f"--alias:{profile.api_module}={_API}",
        f"--external:{_API}",
        # Nothing of the host's: a plugin that imports one of its files is refused.
        f"--external:{profile.table_module}",
        f"--outdir={BOUND}",
        f"--metafile={staging / _METAFILE}",
        "--log-level=warning",
        "--color=false",
    ]


@define(eq=False)
class Confinement:
    """
    The plugins of one build, alone.

    :ivar root: The data directory's real path.
    :ivar staging: The build's working directory.
    :ivar fresh: Those that have to be bound, as directories; there after ``prepare``.
    :ivar files: What is bound, on the disk.
    """

    _profile: HostProfile
    _trees: Mapping[str, Tree]
    _kept: dict[str, Bound]
    root: Path
    staging: Path
    fresh: list[str] = Factory(list)
    _bundler: str = ""
    _inputs: dict[str, bytes] = Factory(dict)
    _with_dom: frozenset[str] = frozenset()
    _unchanged: frozenset[str] = frozenset()
    files: BoundFiles = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.files = BoundFiles(self.root)

    @property
    def inputs(self) -> frozenset[str]:
        """The files of the plugins that their bundles were made of."""
        kept = (one.inputs for one in self._kept.values())
        return frozenset(self._inputs).union(*kept)

    @property
    def known(self) -> dict[str, bytes]:
        """The SHA-256 of each file of the plugins that were bound before, by path."""
        known: dict[str, bytes] = {}
        for one in self._kept.values():
            known.update(one.inputs)
            known.update(one.made)
        return known

    def check_unchanged(self, inputs: frozenset[str]) -> frozenset[str]:
        """
        Check that nothing of what is bound has changed since.

        :param inputs: What the bundler read for the host's bundle.
        :return: What else of this build has to be checked: the host's files, and those
            of the plugins that are bound in this build.  Those of others have not been
            read, and their trees are verified.
        :raise BuildError: Naming the file that is another.
        """
        return inputs.difference(self.files.check_unchanged()).union(self._inputs)

    def prepare(self, bundler: str) -> None:
        """
        Remove what an earlier build left, except for what this build can use.

        :param bundler: The bundler's digest.
        :raise OSError: It could not be done.
        """
        self._bundler = bundler
        for name in [name for name in self._kept if not self._is_usable(name)]:
            del self._kept[name]
        self.files.retain(self._kept)
        self.fresh = [name for name in self._trees if name not in self._kept]
        self.files.add(self.fresh)

    def _is_usable(self, name: str) -> bool:
        """Whether a plugin was bound from this tree, with this bundler."""
        kept = self._kept[name]
        return (kept.tree, kept.bundler) == (self._digest(name), self._bundler)

    def _digest(self, name: str) -> str:
        tree = self._trees.get(name)
        return tree.digest(self._profile.tree_domain) if tree else ""

    def unbound(self) -> Bindings:
        """
        Check what the bundler read, and return what is to be bound.

        :raise BuildError: Naming the file that has no business in a plugin's bundle.
        :raise OSError: Something could not be read.
        """
        try:
            metafile = read_bounded(self.staging / _METAFILE, BUILD_METAFILE_BYTES)
            inputs = check_alone(metafile, self.fresh, _API, self._read)
            self._inputs = {path: sha256(self._read(path)).digest() for path in inputs}
            # The trees' digests come last: nothing of this must have changed.
            self._with_dom = frozenset(filter(self._has_dom, self.fresh))
            self._unchanged = frozenset(filter(self._is_unchanged, self.fresh))
            return Bindings([self._unbound(name) for name in self.fresh])
        except TooLargeError:
            raise BuildError(TOO_LARGE) from None

    def _is_unchanged(self, name: str) -> bool:
        """Whether a tree is the one that was verified, now that it was read."""
        try:
            now = read_tree(self.root / "plugins" / name)
        except BridgeError:
            return False
        return now.files == self._trees[name].files

    def bind(self, bindings: Bindings) -> None:
        """
        Write the bound bundles and their scopes.

        :param bindings: Those of ``unbound``, answered.
        :raise BuildError: One could not be bound.
        :raise OSError: Something could not be read or written.
        """
        try:
            answers = bindings.answers()
        except PacketError as e:
            raise BuildError(f"the bundler is not the pinned one: {e}") from None
        for name, source, answer in zip(
            self.fresh, bindings.sources, answers, strict=True
        ):
            if answer.error_line:
                raise BuildError(f"{plugin_of(name)} cannot be bound to its scope")
            (self.root / source.path).unlink()
            names = source.bound_names(answer.code)
            self.files.write(name, BOUND_ENTRY, answer.code)
            scope = scope_text(names, name in self._with_dom)
            self.files.write(name, SCOPE_FILE, scope)
            api = f'export * from "{self._profile.api_module}";\n'
            self.files.write(name, API_FILE, api)

    def keep(self) -> None:
        """Keep what was bound for the next build, now that all of it was checked."""
        for name in self._unchanged:
            start = f"{PLUGINS}{name}/"
            inputs = {p: d for p, d in self._inputs.items() if p.startswith(start)}
            self._kept[name] = Bound(
                self._digest(name),
                self._bundler,
                inputs,
                self.files.made(name),
                self.files.states(name),
            )

    def _unbound(self, name: str) -> Unbound:
        path = f"{BOUND}/{name}/{_OWN}"
        return Unbound(path, self._read(path).decode())

    def _has_dom(self, name: str) -> bool:
        path = self.root / "plugins" / name / MANIFEST_FILE
        try:
            manifest = loads_unique(read_bounded(path, MANIFEST_BYTES))
        except (BridgeError, TooLargeError, OSError):
            return False
        return type(manifest) is dict and manifest.get(DOM_FIELD) is True

    def _read(self, path: str) -> bytes:
        return read_bounded(f"{self.root}{os.sep}{path}", BUILD_BUNDLE_BYTES)


def too_complex(error: TooComplexError, directories: Sequence[str]) -> BuildError:
    """Return the error of a bundle that takes too much time or memory to bind."""
    name = plugin_of(directories[error.index])
    return BuildError(f"{name} is too complex to be bound to its scope")
