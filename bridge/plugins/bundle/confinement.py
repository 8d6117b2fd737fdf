"""
Each plugin alone: its own bundle, checked, and bound to the scope of its permissions.

This comes before the host's bundle, which imports the results instead of the plugins'
own files.  The functions block, unless they are coroutines.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from attrs import Factory, define

from ...protocol.errors import BridgeError
from ...protocol.limits import (
    BUILD_BUNDLE_BYTES,
    BUILD_METAFILE_BYTES,
    MANIFEST_BYTES,
)
from ...protocol.wire import loads_unique
from ...settings.host import HostProfile
from ..esbuild.language import TARGET, TSCONFIG_RAW, loader_arguments
from ..policy.reader.encoding import PacketError
from ..policy.reader.service import TooComplexError
from ..tree.files import TooLargeError, read_bounded, shown
from ..tree.manifest import DOM_FIELD, ENTRY_FILE, MANIFEST_FILE
from .binding import SCOPE_FILE, Bindings, Unbound
from .metafile import TOO_LARGE, BuildError, check_alone
from .plugintable import BOUND, BOUND_ENTRY, plugin_of
from .scope import scope_text

# Of its own for each plugin: the object of `import * as` would be shared otherwise, and
# is none that can be frozen.  No file of a plugin's is likely to be called so.
_API: Final = "./@api.js"
_OWN: Final = "own.js"
_METAFILE: Final = "own.json"


def own_arguments(
    profile: HostProfile, directories: Sequence[str], staging: Path
) -> list[str]:
    """
    What follows the bundler's name on the command line that bundles plugins alone.

    :param directories: See ``Builder.build``.
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
    :ivar inputs: The files of the plugins that were read; there after ``unbound``.
    """

    _profile: HostProfile
    _directories: Sequence[str]
    root: Path
    staging: Path
    inputs: frozenset[str] = frozenset()
    _written: dict[str, str] = Factory(dict)

    def prepare(self) -> None:
        """
        Replace what an earlier build left by empty directories.

        :raise OSError: It could not be done.
        """
        bound = self.root / BOUND
        shutil.rmtree(bound, ignore_errors=True)
        for folder in (bound, *(bound / name for name in self._directories)):
            # Otherwise the bundler would make them, for others to write to as well.
            folder.mkdir(mode=0o700)

    def unbound(self) -> Bindings:
        """
        Check what the bundler read, and return what is to be bound.

        :raise BuildError: Naming the file that has no business in a plugin's bundle.
        :raise OSError: Something could not be read.
        """
        try:
            metafile = read_bounded(self.staging / _METAFILE, BUILD_METAFILE_BYTES)
            self.inputs = check_alone(metafile, self._directories, _API, self._read)
            return Bindings([self._unbound(name) for name in self._directories])
        except TooLargeError:
            raise BuildError(TOO_LARGE) from None

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
            self._directories, bindings.sources, answers, strict=True
        ):
            if answer.error_line:
                raise BuildError(f"{plugin_of(name)} cannot be bound to its scope")
            (self.root / source.path).unlink()
            names = source.bound_names(answer.code)
            self._write(f"{BOUND}/{name}/{BOUND_ENTRY}", answer.code)
            scope = scope_text(names, self._has_dom(name))
            self._write(f"{BOUND}/{name}/{SCOPE_FILE}", scope)
            api = f'export * from "{self._profile.api_module}";\n'
            self._write(f"{BOUND}/{name}/{_API.removeprefix('./')}", api)

    def check_unchanged(self, inputs: frozenset[str]) -> None:
        """
        Check that the bundler read what was written here.

        :param inputs: What it read for the host's bundle.
        :raise BuildError: Naming the file that is another.
        """
        for path in sorted(inputs):
            known = self._written.get(path)
            if path.startswith(BOUND) and _digest(self._read(path)) != known:
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
        return read_bounded(self.root / path, BUILD_BUNDLE_BYTES)

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


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
