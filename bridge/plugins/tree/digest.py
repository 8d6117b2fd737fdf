"""
The digest of a tree: what an author vouches for.

It covers the path and the content of every file but ``.git/`` and the signature
file itself; file modes and empty directories have no part in it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import define, field

from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.limits import CLONE_OBJECTS, MIB, TREE_BYTES, TREE_FILES
from .files import NotRegularError, open_descriptor, shown

SIGNATURE_FILE: Final = "plugin.sig"

GIT_FOLDER: Final = ".git"
"""What is in a directory of this name has no part in the digest."""

TreeDigests = Mapping[str, str | None]
"""
The trees of a build: the digest of each, or ``None`` when it was not verified.

Each is called by its name below ``plugins/``: the id of an installed plugin, or the
directory of a linked tree; there is one for each plugin.
"""

Verify = Callable[[], TreeDigests]
"""Verifies the trees of a build, and returns those that it is made of.  Blocks."""

Look = Callable[["os.DirEntry[str]"], Any]
"""Accepts each file and directory that is found in a tree, or raises."""

_CHUNK_BYTES: Final = MIB


@define
class _TreeHash:
    """Hashes the files of a tree, given in the order of their paths' bytes."""

    tree_domain: str
    _files: int = field(default=0, init=False)
    _bytes: int = field(default=0, init=False)
    _hash: hashlib._Hash = field(factory=hashlib.sha256, init=False)

    def __attrs_post_init__(self) -> None:
        self._hash.update(self.tree_domain.encode() + b"\n")

    def add(self, path: bytes, size: int, chunks: Iterable[bytes]) -> None:
        """
        Hash one file.

        :raise BridgeError: ``unsigned``: one of the limits, or not ``size`` bytes.
        """
        self._files += 1
        self._bytes += size
        if self._files > TREE_FILES:
            raise _too_many()
        if self._bytes > TREE_BYTES:
            raise unsigned(f"the tree is larger than {TREE_BYTES} bytes")
        self._hash.update(path + b"\0" + size.to_bytes(8, "little"))
        left = size
        for chunk in chunks:
            left -= len(chunk)
            if left < 0:
                break
            self._hash.update(chunk)
        if left:
            raise unsigned(f"{shown(path.decode())} changed while it was read")

    def digest(self) -> str:
        """64 lower-case hexadecimal digits."""
        return self._hash.hexdigest()


def tree_digest(root: Path, tree_domain: str, look: Look | None = None) -> str:
    """
    The digest of every file below ``root`` but ``.git/`` and ``plugin.sig``.

    :param tree_domain: ``HostProfile.tree_domain``.
    :param look: Called for each entry, the signature and ``.git`` too, but not for what
        is in ``.git``; before any file of the digest is read.
    :return: 64 lower-case hexadecimal digits.
    :raise BridgeError: ``unsigned``: a link, a device, an unreadable file, or a
        name or a size that cannot be signed.
    """
    tree, start = _TreeHash(tree_domain), os.path.join(root, "")
    for path in sorted(_paths(start, look)):
        name = path.decode()
        try:
            fd, size = open_descriptor(start + name)
            try:
                tree.add(path, size, _chunks(fd, size))
            finally:
                os.close(fd)
        except NotRegularError:
            raise unsigned(f"{shown(name)} is not a regular file") from None
        except OSError:
            raise unsigned(f"{shown(name)} cannot be read") from None
    return tree.digest()


def files_digest(files: Mapping[str, bytes], tree_domain: str) -> str:
    """
    ``tree_digest`` of files in memory.

    :param files: From a path with ``/`` to the content.
    :raise BridgeError: ``unsigned``, as ``tree_digest``.
    """
    tree = _TreeHash(tree_domain)
    signed = {_signable(p): c for p, c in files.items() if p != SIGNATURE_FILE}
    for path, content in sorted(signed.items()):
        tree.add(path, len(content), (content,))
    return tree.digest()


def _chunks(fd: int, size: int) -> Iterator[bytes]:
    """The content of a file, or what there is beyond its size."""
    # One byte more is asked for than there should be, so that the end is seen.
    while chunk := os.read(fd, asked := min(size, _CHUNK_BYTES) + 1):
        yield chunk
        size -= len(chunk)
        if size <= 0 and len(chunk) < asked:
            return


def _paths(start: str, look: Look | None) -> list[bytes]:
    """What is signed, as relative UTF-8 paths with ``/``, in no order."""
    found: list[bytes] = []
    folders = [""]
    # The list grows while it is walked: by the folders found in a folder.
    for folder in folders:
        for entry in _entries(start + folder, folder):
            if look is not None:
                look(entry)
            try:
                _sort_in(entry, folder, found, folders)
            except OSError:
                raise _unreadable(folder) from None
    return found


def _entries(directory: str, folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            yield from entries
    except OSError:
        raise _unreadable(folder) from None


def _unreadable(folder: str) -> BridgeError:
    return unsigned(f"{shown(folder) or 'the tree'} cannot be read")


def _sort_in(
    entry: os.DirEntry[str], folder: str, found: list[bytes], folders: list[str]
) -> None:
    path = folder + entry.name
    if entry.is_symlink():
        raise unsigned(f"{shown(path)} is a symbolic link")
    if entry.is_dir(follow_symlinks=False):
        if entry.name != GIT_FOLDER:
            folders.append(path + "/")
    elif path != SIGNATURE_FILE:
        found.append(_signable(path))
    if len(found) > TREE_FILES:
        raise _too_many()
    if len(folders) > CLONE_OBJECTS:
        raise unsigned(f"the tree has more than {CLONE_OBJECTS} directories")


def _signable(path: str) -> bytes:
    # A backslash would be read as a slash by signers on other systems.
    if "\\" in path:
        raise unsigned(f"{shown(path)} has a backslash in its name")
    try:
        return path.encode()
    except UnicodeEncodeError:
        raise unsigned(f"{shown(path)} is not UTF-8 in its name") from None


def _too_many() -> BridgeError:
    return unsigned(f"the tree has more than {TREE_FILES} files")


def unsigned(why: str) -> BridgeError:
    """Return the refusal of a signature, without any of its content."""
    return plugin_error(Prefix.UNSIGNED, why)
