"""
Each plugin alone: its own bundle, checked, and bound to a scope of its own.

This comes before the host's bundle, which imports the results instead of the plugins'
own files.  A plugin whose tree is still the one that was bound by an earlier build is
not bound again.  The functions block.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import Factory, define, frozen

from ....datadir.ownership import check
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
from ...tree.digest import TreeDigests, tree_digest
from ...tree.files import TooLargeError, read_bounded, read_own, shown
from ...tree.manifest import DOM_FIELD, ENTRY_FILE, MANIFEST_FILE
from ..inputs.metafile import PLUGINS, TOO_LARGE, BuildError, check_alone
from ..plugintable import BOUND, BOUND_ENTRY, plugin_of
from .binding import SCOPE_FILE, Bindings, Unbound
from .scope import scope_text

# Of its own for each plugin: the object of `import * as` would be shared otherwise, and
# is none that can be frozen.  No file of a plugin's is likely to be called so.
_API_FILE: Final = "@api.js"
_API: Final = f"./{_API_FILE}"
_OWN: Final = "own.js"
_METAFILE: Final = "own.json"
_WRITTEN: Final = sorted((BOUND_ENTRY, SCOPE_FILE, _API_FILE))


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


@frozen
class Bound:
    """
    A plugin that was bound, and all that decides what this is.

    :ivar tree: The digest of the tree.
    :ivar bundler: The digest of the bundler.
    :ivar inputs: The files of the plugin that were read, relative to the data
        directory, with ``/``.
    :ivar written: The digests of the files that were made of them, by path.
    """

    tree: str
    bundler: str
    inputs: frozenset[str]
    written: Mapping[str, str]


@define(eq=False)
class Confinement:
    """
    The plugins of one build, alone.

    :ivar root: The data directory's real path.
    :ivar staging: The build's working directory.
    :ivar fresh: Those that have to be bound, as directories; there after ``prepare``.
    """

    _profile: HostProfile
    _trees: TreeDigests
    _kept: dict[str, Bound]
    root: Path
    staging: Path
    fresh: list[str] = Factory(list)
    _bundler: str = ""
    _inputs: frozenset[str] = frozenset()
    _with_dom: frozenset[str] = frozenset()
    _unchanged: frozenset[str] = frozenset()
    _written: dict[str, str] = Factory(dict)

    @property
    def inputs(self) -> frozenset[str]:
        """The files of the plugins that their bundles were made of."""
        kept = (one.inputs for one in self._kept.values())
        return self._inputs.union(*kept)

    def prepare(self, bundler: str) -> None:
        """
        Remove what an earlier build left, except for what this build can use.

        :param bundler: The bundler's digest.
        :raise OSError: It could not be done.
        """
        self._bundler = bundler
        bound = self.root / BOUND
        if not _is_own(bound):
            self._kept.clear()
        for name in [name for name in self._kept if not self._is_usable(name)]:
            del self._kept[name]
        for one in self._kept.values():
            self._written.update(one.written)
        self.fresh = [name for name in self._trees if name not in self._kept]
        _empty(bound, self._kept)
        for name in self.fresh:
            # Otherwise the bundler would make it, for others to write to as well.
            (bound / name).mkdir(mode=0o700)

    def _is_usable(self, name: str) -> bool:
        """Whether a plugin was bound from this tree, and its files are still there."""
        kept, folder = self._kept[name], os.path.join(self.root, BOUND, name)
        if (kept.tree, kept.bundler) != (self._trees.get(name), self._bundler):
            return False
        try:
            if not _is_own(folder) or sorted(os.listdir(folder)) != _WRITTEN:
                return False
            return all(
                _digest(self._read_own(path)) == digest
                for path, digest in kept.written.items()
            )
        except OSError:
            return False

    def unbound(self) -> Bindings:
        """
        Check what the bundler read, and return what is to be bound.

        :raise BuildError: Naming the file that has no business in a plugin's bundle.
        :raise OSError: Something could not be read.
        """
        try:
            metafile = read_bounded(self.staging / _METAFILE, BUILD_METAFILE_BYTES)
            self._inputs = check_alone(metafile, self.fresh, _API, self._read)
            # Before the digests: the manifests are part of what must not have changed.
            self._with_dom = frozenset(filter(self._has_dom, self.fresh))
            self._unchanged = frozenset(filter(self._is_unchanged, self.fresh))
            return Bindings([self._unbound(name) for name in self.fresh])
        except TooLargeError:
            raise BuildError(TOO_LARGE) from None

    def _is_unchanged(self, name: str) -> bool:
        """Whether a tree is the one that was verified, now that it was read."""
        digest = self._trees[name]
        if digest is None:
            return False
        root = self.root / "plugins" / name
        try:
            return tree_digest(root, self._profile.tree_domain) == digest
        except BridgeError:
            return False

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
            self._write(f"{BOUND}/{name}/{BOUND_ENTRY}", answer.code)
            scope = scope_text(names, name in self._with_dom)
            self._write(f"{BOUND}/{name}/{SCOPE_FILE}", scope)
            api = f'export * from "{self._profile.api_module}";\n'
            self._write(f"{BOUND}/{name}/{_API_FILE}", api)

    def keep(self) -> None:
        """Keep what was bound for the next build, now that all of it was checked."""
        for name in self._unchanged:
            start = f"{PLUGINS}{name}/"
            paths = [f"{BOUND}/{name}/{file}" for file in _WRITTEN]
            self._kept[name] = Bound(
                str(self._trees[name]),
                self._bundler,
                frozenset(path for path in self._inputs if path.startswith(start)),
                {path: self._written[path] for path in paths},
            )

    def check_unchanged(
        self, inputs: frozenset[str], read: Callable[[str], bytes]
    ) -> None:
        """
        Check that the bundler read what was written here.

        :param inputs: What it read for the host's bundle.
        :param read: Returns the bytes of such a file.
        :raise BuildError: Naming the file that is another.
        """
        for path in sorted(inputs):
            known = self._written.get(path)
            if path.startswith(BOUND) and _digest(read(path)) != known:
                raise BuildError(f"{shown(path)} was changed during the build")

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

    def _read_own(self, path: str) -> bytes:
        # Whoever owns it may write to it again, once this was read.
        return read_own(f"{self.root}{os.sep}{path}", BUILD_BUNDLE_BYTES)

    def _write(self, path: str, text: str) -> None:
        # Not synced: the next build writes it again.
        content = text.encode()
        with open(self.root / path, "wb", opener=_private) as file:
            file.write(content)
        self._written[path] = _digest(content)


def too_complex(error: TooComplexError, directories: Sequence[str]) -> BuildError:
    """Return the error of a bundle that takes too much time or memory to bind."""
    name = plugin_of(directories[error.index])
    return BuildError(f"{name} is too complex to be bound to its scope")


def _empty(folder: Path, but: Collection[str]) -> None:
    """Make a private directory, or remove everything in it except some names."""
    if not but:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        return
    for entry in folder.iterdir():
        if entry.name not in but:
            if entry.is_symlink() or not entry.is_dir():
                entry.unlink()
            else:
                shutil.rmtree(entry)


def _is_own(folder: Path | str) -> bool:
    """Whether this is a directory, no link, that nobody else can write to."""
    try:
        check(folder)
        return stat.S_ISDIR(os.lstat(folder).st_mode)
    except OSError:
        return False


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
