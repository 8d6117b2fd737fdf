"""
The files that a bundle was made of, as they are on the disk.

Each is checked once, and each directory on the way to it: that no symbolic link leads
there, that it is spelled as the bundler named it, and that nobody else can have written
it.  Everything here blocks.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import Final

from attrs import Factory, define, frozen

from ....datadir.ownership import NotOwnError, check, check_status
from ....protocol.limits import BUILD_BUNDLE_BYTES, KIB, MIB
from ....system.users import has_owners
from ...tree.files import NotRegularError, read_bounded, shown
from .metafile import PLUGINS, BuildError

_SMALL_BYTES: Final = 16 * KIB
_NO_NAMES: Final = ("", os.curdir, os.pardir)


@define
class Contents:
    """
    The files below a directory; small ones are kept, since some are read twice.

    :ivar root: The directory.
    """

    root: str
    _kept: dict[str, bytes] = Factory(dict)
    _room: int = MIB

    def read(self, path: str) -> bytes:
        """
        Read a file.

        :param path: Relative to the root, with ``/``.
        :raise BuildError: It is a link, or no file.
        :raise TooLargeError: It is larger than a bundle may be.
        :raise OSError: It can't be read.
        """
        content = self._kept.get(path)
        if content is None:
            place = f"{self.root}{os.sep}{path}"
            try:
                content = read_bounded(place, BUILD_BUNDLE_BYTES)
            except NotRegularError:
                raise BuildError(f"{shown(path)} is not a regular file") from None
            if len(content) <= min(_SMALL_BYTES, self._room):
                self._kept[path] = content
                self._room -= len(content)
        return content


def check_files(root: str, inputs: Collection[str]) -> None:
    """
    Check each input, and what led there: directories and their packages, also those of
    the directories above the data directory.

    :param root: The data directory's real path.
    :param inputs: Paths relative to it, with ``/``.
    :raise BuildError: Naming the first file that may not be used.
    :raise OSError: A directory can't be listed.
    """
    checked = _Checked(root)
    checked.check_above()
    for path in sorted(inputs):
        checked.check(path)


@frozen
class _Checked:
    """
    What was found good, so that each file and directory is looked at once.

    :ivar folders: The directories that are good, by their paths relative to the root.
    :ivar names: The names in a directory.
    """

    root: str
    folders: set[str] = Factory(lambda: {""})
    names: dict[str, frozenset[str]] = Factory(dict)

    def check(self, path: str) -> None:
        """
        Check an input, and the directories it is in.

        :raise BuildError: It may not be used.
        """
        folder = path.rpartition("/")[0]
        if folder not in self.folders:
            self._check_folder(folder, path)
        self._check_part(path, path)

    def check_above(self) -> None:
        """
        Check the packages of the root and of the directories above it.

        :raise BuildError: Another user may have written one.
        """
        root = Path(self.root)
        for folder in (root, *root.parents):
            self._check_package(str(folder / "package.json"))

    def _check_folder(self, folder: str, path: str) -> None:
        """Check a directory on the way to an input, and those above it."""
        above = folder.rpartition("/")[0]
        if above not in self.folders:
            self._check_folder(above, path)
        self._check_part(folder, path)
        self._check_package(self._place(f"{folder}/package.json"), self._top(path))
        self.folders.add(folder)

    def _check_part(self, part: str, path: str) -> None:
        """
        Check a part of the way to an input; the directory it is in is good.

        :param part: Its path.
        :param path: The input's.
        """
        folder, _, name = part.rpartition("/")
        place = self._place(part)
        found = _status(place)
        if name in _NO_NAMES or _leads_elsewhere(place, found):
            raise BuildError(f"{shown(path)} is reached through a symbolic link")
        if path.startswith(PLUGINS) and name not in self._listing(folder):
            raise BuildError(f"{shown(path)} is spelled differently on the disk")
        if found is not None:
            try:
                check_status(found, place, self._top(path))
            except NotOwnError as e:
                raise BuildError(str(e)) from None

    def _listing(self, folder: str) -> frozenset[str]:
        """
        List a directory on the way to a plugin's file.

        A system that is lenient about names opens ``main.ts`` when there is a
        ``Main.TS``, which was scanned under its own name: as another kind of file, or
        not at all.
        """
        if folder not in self.names:
            self.names[folder] = frozenset(os.listdir(self._place(folder)))
        return self.names[folder]

    def _check_package(self, package: str, top: str | None = None) -> None:
        try:
            check(package, top)
        except NotOwnError as e:
            raise BuildError(str(e)) from None

    def _top(self, path: str) -> str:
        """Return the place of a whole: of a plugin's tree, or of ``host``."""
        parts = path.split("/")[: 2 if path.startswith(PLUGINS) else 1]
        return self._place("/".join(parts))

    def _place(self, path: str) -> str:
        return f"{self.root}{os.sep}{path}"


def _status(place: str) -> os.stat_result | None:
    """Look at a path; ``None`` when nothing is there."""
    try:
        return os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _leads_elsewhere(place: str, found: os.stat_result | None) -> bool:
    if not has_owners():
        # On Windows other things than links do, and a name has two spellings.
        return os.path.realpath(place) != place
    return found is not None and stat.S_ISLNK(found.st_mode)
