"""
The files of bound plugins, in a directory of their own below ``build/``.

Nothing of it is used because of where it lies: the digests of what was written are kept
in memory, and nobody else may own it, since his file's content can change while the
bundler reads it.  The functions block.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from attrs import Factory, define, frozen

from ....datadir.ownership import check
from ....protocol.limits import BUILD_BUNDLE_BYTES
from ...tree.files import read_own, shown
from ..inputs.metafile import BuildError
from ..plugintable import BOUND, BOUND_ENTRY
from .binding import SCOPE_FILE

# Of its own for each plugin: the object of `import * as` would be shared otherwise, and
# is none that can be frozen.  No file of a plugin's is likely to be called so.
API_FILE: Final = "@api.js"
_FILES: Final = sorted((BOUND_ENTRY, SCOPE_FILE, API_FILE))


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
class BoundFiles:
    """
    The files of one build, which may be those of an earlier one.

    :ivar root: The data directory's real path.
    """

    root: Path
    _written: dict[str, str] = Factory(dict)

    @property
    def _directory(self) -> Path:
        return self.root / BOUND

    def retain(self, kept: dict[str, Bound]) -> None:
        """
        Remove everything but the files of these plugins.

        :param kept: By directory; those are removed from it whose files are not as they
            were written any more.
        :raise OSError: It could not be done.
        """
        if not _is_own(self._directory):
            kept.clear()
        for name in [name for name in kept if not self._is_intact(name, kept[name])]:
            del kept[name]
        for one in kept.values():
            self._written.update(one.written)
        _empty(self._directory, kept)

    def _is_intact(self, name: str, bound: Bound) -> bool:
        directory = os.path.join(self._directory, name)
        try:
            if not _is_own(directory) or sorted(os.listdir(directory)) != _FILES:
                return False
            return all(
                _digest(read_own(self._place(path), BUILD_BUNDLE_BYTES)) == digest
                for path, digest in bound.written.items()
            )
        except OSError:
            return False

    def add(self, names: Iterable[str]) -> None:
        """
        Make the directories of plugins that are to be bound.

        The bundler would make them as the umask has it, for others to write to as well.
        """
        for name in names:
            (self._directory / name).mkdir(mode=0o700)

    def write(self, name: str, file: str, text: str) -> None:
        """Write a file of a plugin."""
        # Not synced: the next build writes it again.
        path, content = f"{BOUND}/{name}/{file}", text.encode()
        with open(self._place(path), "wb", opener=_private) as opened:
            opened.write(content)
        self._written[path] = _digest(content)

    def written(self, name: str) -> dict[str, str]:
        """Return the digests of a plugin's files, by path."""
        paths = [f"{BOUND}/{name}/{file}" for file in _FILES]
        return {path: self._written[path] for path in paths}

    def check_unchanged(
        self, inputs: frozenset[str], read: Callable[[str], bytes]
    ) -> None:
        """
        Check that the bundler read what was written.

        :param inputs: What it read for the host's bundle.
        :param read: Returns the bytes of such a file.
        :raise BuildError: Naming the file that is another.
        """
        for path in sorted(inputs):
            known = self._written.get(path)
            if path.startswith(BOUND) and _digest(read(path)) != known:
                raise BuildError(f"{shown(path)} was changed during the build")

    def _place(self, path: str) -> str:
        return f"{self.root}{os.sep}{path}"


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
