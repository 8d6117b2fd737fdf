"""
The files that a bundle was made of, as they are on the disk.

Each is looked at once, and each directory on the way to it: that no symbolic link leads
there, that it is spelled as the bundler named it, and that nobody else can have written
it.  Everything here blocks.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from typing import Final

from attrs import Factory, frozen

from ....datadir.ownership import NotOwnError, check, check_status
from ....system.users import has_owners
from ...tree.files import shown
from .metafile import PLUGINS, BuildError

_NO_NAMES: Final = ("", os.curdir, os.pardir)


def check_files(root: str, inputs: Collection[str]) -> None:
    """
    Check each input, and what led there: directories and their packages.

    :param root: The data directory's real path.
    :param inputs: Paths relative to it, with ``/``.
    :raise BuildError: Naming the first file that may not be used.
    :raise OSError: A directory can't be listed.
    """
    checked = _Checked(root)
    for path in sorted(inputs):
        if not checked.is_real(path):
            raise BuildError(f"{shown(path)} is reached through a symbolic link")
        if path.startswith(PLUGINS) and not checked.is_spelled(path):
            raise BuildError(f"{shown(path)} is spelled differently on the disk")
        checked.check_owners(path)


@frozen
class _Checked:
    """What is known of files and directories, by their paths relative to the root."""

    root: str
    _real: dict[str, bool] = Factory(dict)
    _found: dict[str, os.stat_result | None] = Factory(dict)
    _names: dict[str, frozenset[str]] = Factory(dict)
    _own: set[str] = Factory(set)

    def is_real(self, path: str) -> bool:
        """Whether a path is the real one of a file below the root."""
        folder, _, name = path.rpartition("/")
        if folder and folder not in self._real:
            self._real[folder] = self.is_real(folder)
        is_there = not folder or self._real[folder]
        return is_there and name not in _NO_NAMES and not self._leads_elsewhere(path)

    def _leads_elsewhere(self, path: str) -> bool:
        if not has_owners():
            # On Windows other things than links do, and a name has two spellings.
            place = self._place(path)
            return os.path.realpath(place) != place
        found = self._stat(path)
        return found is not None and stat.S_ISLNK(found.st_mode)

    def is_spelled(self, path: str) -> bool:
        """
        Whether every part of a path is in its directory's listing, letter by letter.

        A system that is lenient about names opens ``main.ts`` when there is a
        ``Main.TS``, which was scanned under its own name: as another kind of file, or
        not at all.
        """
        folder, _, name = path.rpartition("/")
        if folder not in self._names:
            self._names[folder] = frozenset(os.listdir(self._place(folder)))
        return name in self._names[folder] and (not folder or self.is_spelled(folder))

    def check_owners(self, path: str) -> None:
        """
        Check who may have written a file, its directories and their packages.

        :param path: A real one.
        :raise BuildError: Somebody else may.
        """
        top = self._place("/".join(_top(path)))
        folder = path.rpartition("/")[0]
        while folder and folder not in self._own:
            self._own.add(folder)
            self._check_own(folder, top)
            self._check_package(self._place(f"{folder}/package.json"), top)
            folder = folder.rpartition("/")[0]
        self._check_own(path, top)

    def _check_own(self, path: str, top: str) -> None:
        found = self._stat(path)
        if found is None or not has_owners():
            return
        try:
            check_status(found, self._place(path), top)
        except NotOwnError as e:
            raise BuildError(str(e)) from None

    def _check_package(self, place: str, top: str) -> None:
        try:
            check(place, top)
        except NotOwnError as e:
            raise BuildError(str(e)) from None

    def _stat(self, path: str) -> os.stat_result | None:
        """Look at a path, once; ``None`` when nothing is there."""
        if path not in self._found:
            try:
                self._found[path] = os.lstat(self._place(path))
            except (FileNotFoundError, NotADirectoryError):
                self._found[path] = None
        return self._found[path]

    def _place(self, path: str) -> str:
        return f"{self.root}{os.sep}{path}"


def _top(path: str) -> list[str]:
    """Return what of an input's path names a whole: a plugin's tree, or ``host``."""
    return path.split("/")[: 2 if path.startswith(PLUGINS) else 1]
