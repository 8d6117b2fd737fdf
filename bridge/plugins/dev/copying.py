"""
Copies of an author's working tree, under the rules for a clone of it.

Everything here blocks; the daemon runs it in a thread.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from attrs import define, field

from ...datadir.ownership import write_file
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ..clone.objects.filenames import check_name, names_collide
from ..clone.objects.treesize import TreeSize
from ..clone.transfer import CloneLimits, clone_failed
from ..tree.files import NotRegularError, TooLargeError, read_bounded, shown

_LIMITS: Final = CloneLimits()


def copy_files(
    root: Path,
    names: Iterable[str],
    into: Path,
    limits: CloneLimits = _LIMITS,
) -> None:
    """
    Copy files of a directory that somebody may be editing.

    No link is followed.

    :param names: Relative paths with ``/``; a file that has disappeared is left out.
    :param into: Created by this function, for it alone.
    :raise BridgeError: What a clone would be refused for, naming the file.
    :raise OSError: The copy cannot be written.
    """
    into.mkdir(mode=0o700)
    copy = _Copy(root, into, TreeSize(limits))
    for name in names:
        try:
            copy.add(name)
        except BridgeError as e:
            if not e.message.startswith(Prefix.CLONE_FAILED):
                raise
            raise BridgeError(e.code, f"{e.message} ({shown(name)})") from None


@define
class _Copy:
    """A copy that grows by one file at a time."""

    _root: Path
    _into: Path
    _size: TreeSize
    _taken: dict[str, str] = field(factory=dict, init=False)
    _folders: set[str] = field(factory=set, init=False)

    def add(self, name: str) -> None:
        """Copy one file."""
        self._check(name)
        source, target = self._root / name, self._into / name
        self._make_folders(name.split("/")[:-1])
        try:
            mode = source.lstat().st_mode
            if stat.S_ISLNK(mode):
                raise plugin_error(Prefix.POLICY, f"{shown(name)}:1 symlink")
            if stat.S_ISDIR(mode):
                raise plugin_error(Prefix.POLICY, f"{shown(name)}:1 submodule")
            self._copy(source, target)
        except FileNotFoundError:
            return
        self._size.add_file()

    def _check(self, name: str) -> None:
        parts = name.split("/")
        self._size.check_depth(len(parts) - 1)
        self._size.check_path(os.fsencode(name))
        path = folded = ""
        for part in parts:
            text, alike = check_name(os.fsencode(part))
            path, folded = f"{path}/{text}", f"{folded}/{alike}"
            if self._taken.setdefault(folded, path) != path:
                raise names_collide()

    def _make_folders(self, parts: list[str]) -> None:
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            if folder in self._folders:
                continue
            if (self._root / folder).is_symlink():
                raise plugin_error(Prefix.POLICY, f"{shown(folder)}:1 symlink")
            (self._into / folder).mkdir(mode=0o700)
            self._folders.add(folder)

    def _copy(self, source: Path, target: Path) -> None:
        try:
            content = read_bounded(source, self._size.bytes_left)
        except NotRegularError:
            raise clone_failed("neither a file nor a directory") from None
        except TooLargeError:
            raise self._size.too_many_bytes() from None
        except PermissionError:
            raise clone_failed("it cannot be read") from None
        self._size.add_bytes(len(content))
        write_file(target, content)
