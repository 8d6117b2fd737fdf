"""
A plugin's tree in memory: read once, by one bounded walk.

What is read here is what is checked, verified and built; nothing looks at the disk
again for it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from attrs import field

from ...classes import define, frozen
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.limits import CLONE_OBJECTS, SIGNATURE_BYTES, TREE_BYTES, TREE_FILES
from ...protocol.text import shown
from ...system.files import NotRegularError, TooLargeError, read_bounded

SIGNATURE_FILE: Final = "plugin.sig"
"""The file at the root that has no part in the digest, which is in it."""

GIT_FOLDER: Final = ".git"

Verified = tuple["Mapping[str, Tree]", Mapping[str, str]]
"""
What a build is made of.

Each tree is called by its name below ``plugins/``: the id of an installed plugin, or
the directory of a linked tree; there is one for each plugin.  The second are the other
plugins, by id: why each is not built.
"""

Verify = Callable[[], Verified | None]
"""
Verifies what a build is made of, and returns it; ``None`` while another process changes
it.  Blocks.
"""


def _sorted(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    return MappingProxyType(dict(sorted(files.items())))


@frozen(eq=False)
class Tree:
    """
    The files of a plugin.

    :ivar files: The content of each, by its path with ``/``, in the order of the paths'
        UTF-8 bytes; nothing of ``.git/`` at the root.
    :raise BridgeError: ``unsigned``: there are too many files or bytes, or a name that
        other systems would read otherwise.
    """

    files: Mapping[str, bytes] = field(converter=_sorted, repr=False)

    def __attrs_post_init__(self) -> None:
        sizes = [len(c) for p, c in self.files.items() if p != SIGNATURE_FILE]
        if len(sizes) > TREE_FILES:
            raise _too_many()
        if sum(sizes) > TREE_BYTES:
            raise _too_large()
        for path in self.files:
            _check_signable(path)

    def digest(self, tree_domain: str) -> str:
        """
        Return what an author vouches for: the SHA-256 of every path and content.

        The signature file has no part in it; file modes and empty directories are not
        even in a tree.

        :param tree_domain: ``HostProfile.tree_domain``.
        :return: 64 lower-case hexadecimal digits.
        """
        found = hashlib.sha256(f"{tree_domain}\n".encode())
        for path, content in self.files.items():
            if path != SIGNATURE_FILE:
                found.update(path.encode() + b"\0" + len(content).to_bytes(8, "little"))
                found.update(content)
        return found.hexdigest()


def read_tree(root: Path) -> Tree:
    """
    Read every file below ``root``, but those of its ``.git``; blocks.

    No link is followed, and nothing but regular files is opened.

    :raise BridgeError: ``policy``: a link, a submodule, a pipe or a device;
        ``unsigned``: it cannot be read, or as for ``Tree``.
    """
    return Tree(_Walk(root).read())


@define
class _Walk:
    """A walk over the directories of a tree."""

    _root: Path
    _files: dict[str, bytes] = field(factory=dict, init=False)
    _folders: list[str] = field(factory=lambda: [""], init=False)
    # Of what is not the signature there may be less.
    _room: int = field(default=TREE_BYTES + SIGNATURE_BYTES, init=False)

    def read(self) -> dict[str, bytes]:
        """Read every file; see ``read_tree``."""
        # The list grows while it is walked: by the folders found in a folder.
        for folder in self._folders:
            for entry in _entries(self._root / folder, folder):
                self._add(entry, folder + entry.name)
        return self._files

    def _add(self, entry: os.DirEntry[str], path: str) -> None:
        if entry.is_symlink():
            raise refused(path, "symlink")
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder and path == GIT_FOLDER:
            return
        if entry.name == GIT_FOLDER:
            raise refused(os.path.dirname(path) or path, "submodule")
        if not is_folder:
            self._read(entry.path, path)
        elif len(self._folders) == CLONE_OBJECTS:
            raise unsigned(f"the tree has more than {CLONE_OBJECTS} directories")
        else:
            self._folders.append(f"{path}/")

    def _read(self, place: str, path: str) -> None:
        if len(self._files) > TREE_FILES:
            raise _too_many()
        try:
            content = read_bounded(place, self._room)
        except NotRegularError:
            raise refused(path, "not a regular file") from None
        except TooLargeError:
            raise _too_large() from None
        except OSError as e:
            raise unreadable(path, e) from None
        self._room -= len(content)
        self._files[path] = content


def _entries(directory: Path, folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            yield from entries
    except OSError as e:
        raise unreadable(folder, e) from None


def _check_signable(path: str) -> None:
    # A backslash would be read as a slash by signers on other systems.
    if "\\" in path:
        raise unsigned(f"{shown(path)} has a backslash in its name")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise unsigned(f"{shown(path)} is not UTF-8 in its name") from None


def refused(path: str, rule: str) -> BridgeError:
    """Return the refusal of what is no regular file: ``policy: <path>:1 <rule>``."""
    return plugin_error(Prefix.POLICY, f"{shown(path)}:1 {rule}")


def _too_many() -> BridgeError:
    return unsigned(f"the tree has more than {TREE_FILES} files")


def _too_large() -> BridgeError:
    return unsigned(f"the tree is larger than {TREE_BYTES} bytes")


def unreadable(path: str, error: OSError) -> BridgeError:
    """Return the refusal of what cannot be read below a tree; empty: the tree."""
    why = error.strerror or "I/O error"
    return unsigned(f"{shown(path) or 'the tree'} cannot be read: {why}")


def unsigned(why: str) -> BridgeError:
    """Return the refusal of a signature, without any of its content."""
    return plugin_error(Prefix.UNSIGNED, why)


EXEMPT = frozenset(
    {
        "eslint.config.js",
        "eslint.config.mjs",
        "eslint.config.cjs",
        "vitest.config.ts",
        "vitest.config.js",
        "vitest.config.mts",
        "scripts/sign-plugin.mjs",
    }
)
"""Paths of tooling that plugins carry and that nothing may load."""


def is_test_name(name: str) -> bool:
    """Whether a base name is a test file's: ``a.test.ts``, ``a.spec.d.ts``."""
    return bool({"test", "spec"}.intersection(name.lower().split(".")[1:-1]))


def is_declaration_name(name: str) -> bool:
    """Whether a base name is that of a file of types, which no bundle can have."""
    return name.lower().endswith((".d.ts", ".d.mts", ".d.cts"))
