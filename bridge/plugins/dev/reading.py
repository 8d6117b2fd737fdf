"""
Reads an author's working tree, under the rules for a clone of it.

Everything here blocks; the daemon runs it in a thread.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from attrs import field

from ...classes import define
from ...protocol.errors import BridgeError, Prefix
from ...protocol.text import shown
from ...system.files import NotRegularError, TooLargeError, read_bounded
from ..clone.bounds import BoundedFiles, clone_failed
from ..tree.tree import refused


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
    return reading.bounded.files


@define
class _Reading:
    """The files that were read, one after the other."""

    _root: Path
    bounded: BoundedFiles = field(factory=BoundedFiles, init=False)
    _entered: set[str] = field(factory=set, init=False)

    def add(self, name: str) -> None:
        """Read one file."""
        self._enter(name)
        source = self._root / name
        with suppress(FileNotFoundError, NotADirectoryError):
            mode = source.lstat().st_mode
            if stat.S_ISLNK(mode):
                raise refused(name, "symlink")
            if stat.S_ISDIR(mode):
                raise refused(name, "submodule")
            self.bounded.add(name, self._read(source))

    def _enter(self, name: str) -> None:
        """Check the names of a file and of the directories it is in."""
        folder = ""
        for part in name.split("/"):
            path = folder + part
            if path not in self._entered:
                self.bounded.enter(folder, os.fsencode(part))
                self._entered.add(path)
            if folder and (self._root / folder).is_symlink():
                raise refused(folder[:-1], "symlink")
            folder = f"{path}/"

    def _read(self, source: Path) -> bytes:
        try:
            return read_bounded(source, self.bounded.bytes_left)
        except NotRegularError:
            raise clone_failed("neither a file nor a directory") from None
        except TooLargeError:
            raise self.bounded.too_many_bytes() from None
        except PermissionError:
            raise clone_failed("it cannot be read") from None
