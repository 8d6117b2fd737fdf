"""
Copies of an author's working tree, under the rules a clone of it is under.

Everything here blocks; the daemon runs it in a thread.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from attrs import define, field

from ...datadir.ownership import write_file
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.limits import TREE_BYTES, TREE_DEPTH, TREE_FILES, TREE_PATH_BYTES
from ..clone.names import check_name
from ..clone.transfer import clone_failed
from ..tree.files import NotRegularError, TooLargeError, read_bounded, shown


def copy_files(root: Path, names: Iterable[str], into: Path) -> None:
    """
    Copy files of a directory that somebody may be editing.

    A link is copied as a link, for the source policy to refuse; none is followed.

    :param names: Relative paths with ``/``; one that is gone meanwhile is left out.
    :param into: Made by this; nobody else's.
    :raise BridgeError: What a clone would be refused for, naming the file.
    :raise OSError: The copy cannot be written.
    """
    into.mkdir(mode=0o700)
    copy = _Copy(root, into)
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
    _files: int = field(default=0, init=False)
    _bytes: int = field(default=0, init=False)
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
                target.symlink_to(os.readlink(source))
            elif stat.S_ISDIR(mode):
                raise plugin_error(Prefix.POLICY, f"{shown(name)}:1 submodule")
            else:
                self._copy(source, target)
        except FileNotFoundError:
            return
        self._files += 1
        if self._files > TREE_FILES:
            raise clone_failed(f"more than {TREE_FILES} files")

    def _check(self, name: str) -> None:
        parts = name.split("/")
        if len(parts) > TREE_DEPTH + 1 or len(os.fsencode(name)) > TREE_PATH_BYTES:
            raise clone_failed(
                f"a path of more than {TREE_PATH_BYTES} bytes, or more than "
                f"{TREE_DEPTH} directories deep"
            )
        path = folded = ""
        for part in parts:
            text, alike = check_name(os.fsencode(part))
            path, folded = f"{path}/{text}", f"{folded}/{alike}"
            if self._taken.setdefault(folded, path) != path:
                raise clone_failed("two file names differ only in case or in form")

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
            content = read_bounded(source, TREE_BYTES - self._bytes)
        except NotRegularError:
            raise clone_failed("neither a file nor a directory") from None
        except TooLargeError:
            raise clone_failed(f"files of more than {TREE_BYTES} bytes") from None
        except PermissionError:
            raise clone_failed("it cannot be read") from None
        self._bytes += len(content)
        write_file(target, content)
