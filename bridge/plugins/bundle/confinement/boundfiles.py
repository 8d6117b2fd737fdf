"""
The files of bound plugins, in a directory of their own below ``build/``.

Nothing of it is used because of where it lies: the directory is made so that only this
user can write there, and is made again otherwise; and the state in which each file and
directory was left is remembered, and compared before the bundler reads them and
afterwards.  The functions block.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from attrs import Factory, define, frozen

from ....datadir.ownership import check
from ....system.files import remove
from ...tree.files import State, shown, state_of
from ..inputs.metafile import BuildError
from ..plugintable import BOUND, BOUND_ENTRY
from .binding import SCOPE_FILE

# Of its own for each plugin: the object of `import * as` would be shared otherwise, and
# is none that can be frozen.  No file of a plugin's is likely to be called so.
API_FILE: Final = "@api.js"
_FILES: Final = (BOUND_ENTRY, SCOPE_FILE, API_FILE)


@frozen
class Bound:
    """
    A plugin that was bound, and all that decides what this is.

    :ivar tree: The digest of the tree.
    :ivar bundler: The digest of the bundler.
    :ivar inputs: The files of the plugin that were read: the SHA-256 of each, by its
        path relative to the data directory, with ``/``.
    :ivar made: The files that were made of them, in the same way.
    :ivar states: How these were left, and their directory, by path; see ``state_of``.
    """

    tree: str
    bundler: str
    inputs: Mapping[str, bytes]
    made: Mapping[str, bytes]
    states: Mapping[str, State]


@define(eq=False)
class BoundFiles:
    """
    The files of one build, which may be those of an earlier one.

    :ivar root: The data directory's real path.
    """

    root: Path
    _made: dict[str, bytes] = Factory(dict)
    _states: dict[str, State] = Factory(dict)

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
        for name, one in list(kept.items()):
            if any(self._changed(one.states)):
                del kept[name]
            else:
                self._states.update(one.states)
        _empty(self._directory, kept)

    def add(self, names: Iterable[str]) -> None:
        """
        Make the directories of plugins that are to be bound, once all others are there.

        The bundler would make them as the umask has it, for others to write to as well.
        """
        for name in names:
            (self._directory / name).mkdir(mode=0o700)
        self._note(BOUND)

    def write(self, name: str, file: str, text: str) -> None:
        """Write a file of a plugin."""
        # Not synced: the next build writes it again.
        path, content = f"{BOUND}/{name}/{file}", text.encode()
        with open(self._place(path), "wb", opener=_private) as opened:
            opened.write(content)
        self._made[path] = sha256(content).digest()
        self._note(path)
        self._note(f"{BOUND}/{name}")

    def made(self, name: str) -> dict[str, bytes]:
        """Return a plugin's files that were written in this build; see ``Bound``."""
        return {path: self._made[path] for path in _paths(name)}

    def states(self, name: str) -> dict[str, State]:
        """Return how a plugin's files and their directory were left."""
        return {path: self._states[path] for path in (f"{BOUND}/{name}", *_paths(name))}

    def check_unchanged(self) -> frozenset[str]:
        """
        Check that the bundler read what was written.

        :return: The paths of it.
        :raise BuildError: Naming the file that is another.
        """
        changed = next(self._changed(self._states), None)
        if changed is not None:
            raise BuildError(f"{shown(changed)} was changed during the build")
        return frozenset(self._states)

    def _changed(self, states: Mapping[str, State]) -> Iterator[str]:
        """Name what is no longer as it was left."""
        for path, state in states.items():
            try:
                if self._state(path) == state:
                    continue
            except OSError:
                pass
            yield path

    def _note(self, path: str) -> None:
        self._states[path] = self._state(path)

    def _state(self, path: str) -> State:
        return state_of(os.lstat(self._place(path)))

    def _place(self, path: str) -> str:
        return f"{self.root}{os.sep}{path}"


def _paths(name: str) -> list[str]:
    return [f"{BOUND}/{name}/{file}" for file in _FILES]


def _empty(folder: Path, but: Collection[str]) -> None:
    """Make a private directory, or remove everything in it except some names."""
    if not but:
        with contextlib.suppress(FileNotFoundError):
            remove(folder)
        folder.mkdir(mode=0o700)
        return
    for entry in folder.iterdir():
        if entry.name not in but:
            remove(entry)


def _is_own(folder: Path | str) -> bool:
    """Whether this is a directory, no link, that nobody else can write to."""
    try:
        check(folder)
        return stat.S_ISDIR(os.lstat(folder).st_mode)
    except OSError:
        return False


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
