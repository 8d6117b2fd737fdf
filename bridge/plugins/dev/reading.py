"""
Reads an author's working tree, under the rules for a clone of it.

Everything here blocks; the daemon runs it in a thread.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from attrs import field

from ...classes import define
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.text import shown
from ...system.files import NotRegularError, TooLargeError, read_bounded
from ..clone.bounds import (
    TreeSize,
    check_name,
    clone_failed,
    names_collide,
)


def read_files(root: Path, names: Iterable[str]) -> dict[str, bytes]:
    """
    Read files of a directory that somebody may be editing; no link is followed.

    :param names: Relative paths with ``/``; a file that has disappeared is left out.
    :return: The contents, by path.
    :raise BridgeError: What a clone would be refused for, naming the file.
    :raise OSError: One can't be read.
    """
    reading = _Reading(root)
    for name in names:
        try:
            reading.add(name)
        except BridgeError as e:
            if not e.message.startswith(Prefix.CLONE_FAILED):
                raise
            raise BridgeError(e.code, f"{e.message} ({shown(name)})") from None
    return reading.files


@define
class _Reading:
    """The files that were read, one after the other."""

    _root: Path
    _size: TreeSize = field(factory=TreeSize, init=False)
    files: dict[str, bytes] = field(factory=dict, init=False)
    _taken: dict[str, str] = field(factory=dict, init=False)

    def add(self, name: str) -> None:
        """Read one file."""
        self._check_name(name)
        self._check_folders(name)
        source = self._root / name
        with suppress(FileNotFoundError, NotADirectoryError):
            mode = source.lstat().st_mode
            if stat.S_ISLNK(mode):
                raise plugin_error(Prefix.POLICY, f"{shown(name)}:1 symlink")
            if stat.S_ISDIR(mode):
                raise plugin_error(Prefix.POLICY, f"{shown(name)}:1 submodule")
            self.files[name] = self._read(source)
            self._size.add_file()

    def _check_name(self, name: str) -> None:
        parts = name.split("/")
        self._size.check_depth(len(parts) - 1)
        self._size.check_path(os.fsencode(name))
        path = folded = ""
        for part in parts:
            text, alike = check_name(os.fsencode(part))
            path, folded = f"{path}/{text}", f"{folded}/{alike}"
            if self._taken.setdefault(folded, path) != path:
                raise names_collide()

    def _check_folders(self, name: str) -> None:
        for folder in reversed(PurePosixPath(name).parents[:-1]):
            if (self._root / folder).is_symlink():
                raise plugin_error(Prefix.POLICY, f"{shown(str(folder))}:1 symlink")

    def _read(self, source: Path) -> bytes:
        try:
            content = read_bounded(source, self._size.bytes_left)
        except NotRegularError:
            raise clone_failed("neither a file nor a directory") from None
        except TooLargeError:
            raise self._size.too_many_bytes() from None
        except PermissionError:
            raise clone_failed("it cannot be read") from None
        self._size.add_bytes(len(content))
        return content
