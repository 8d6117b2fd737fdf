"""
A commit's tree: validated as a whole in memory, and the ``.git`` next to it on disk.

Regular files only, as the bytes they are: no filter, no line endings, no executable
bit.  The ``.git`` is written file by file, as ``dulwich`` has the formats, so nothing
of the machine's git configuration, templates or hooks can get into it.
"""

from __future__ import annotations

import io
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from attrs import field

from ...classes import define, frozen
from ...datadir.ownership import write_files
from ..tree.tree import Tree, refused
from .bounds import BoundedFiles, clone_failed
from .pack import BLOB, COMMIT, TREE, Unpacked

_TREE_LINE: Final = re.compile(rb"tree ([0-9a-f]{40})\n")
_PARENT_LINE: Final = re.compile(rb"parent [0-9a-f]{40}\n")
_MODE: Final = re.compile(rb"[0-7]{5,7}")
_NAME_BYTES: Final = 20
_GITLINK: Final = 0o160000


@frozen
class Snapshot:
    """
    The files that a commit names.

    :ivar names: The object that each is, 20 bytes, by its path.
    :ivar shallow: Whether the commit has parents, which were not fetched.
    """

    tree: Tree
    names: dict[str, bytes]
    shallow: bool


def read_snapshot(
    commit: str, unpacked: Unpacked, check: Callable[[], None]
) -> Snapshot:
    """
    List the files of a commit.

    :param check: Called for every directory; may raise to end it.
    :raise BridgeError: ``policy: …`` for a symlink or a submodule, ``clone_failed: …``
        for an unsafe or colliding name, a limit, or an object that is missing.
    """
    content = _content(unpacked, bytes.fromhex(commit), COMMIT)
    tree = _TREE_LINE.match(content)
    if tree is None:
        raise clone_failed("a commit that git would not make")
    shallow = _PARENT_LINE.match(content, tree.end()) is not None
    walk = _Walk(unpacked, check)
    walk.all_of(bytes.fromhex(tree[1].decode("ascii")))
    return Snapshot(Tree(walk.bounded.files), walk.names, shallow)


@define
class _Walk:
    """A walk over all directories of a tree, shallow ones first."""

    _unpacked: Unpacked
    _check: Callable[[], None]
    bounded: BoundedFiles = field(factory=BoundedFiles, init=False)
    names: dict[str, bytes] = field(factory=dict, init=False)
    _directories: list[tuple[bytes, str]] = field(factory=list, init=False)

    def all_of(self, root: bytes) -> None:
        """Collect every file below the tree ``root``."""
        self._directories.append((root, ""))
        while self._directories:
            self._check()
            name, folder = self._directories.pop()
            for mode, part, target in _entries(_content(self._unpacked, name, TREE)):
                path = self.bounded.enter(folder, part)
                if stat.S_ISDIR(mode):
                    self._directories.append((target, f"{path}/"))
                else:
                    self._file(mode, path, target)

    def _file(self, mode: int, path: str, name: bytes) -> None:
        if stat.S_ISLNK(mode):
            raise refused(path, "symlink")
        if stat.S_IFMT(mode) == _GITLINK:
            raise refused(path, "submodule")
        if not stat.S_ISREG(mode):
            raise clone_failed("an entry that is neither a file nor a directory")
        self.bounded.add(path, _content(self._unpacked, name, BLOB))
        self.names[path] = name


def _entries(tree: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    at = 0
    while at < len(tree):
        space = tree.find(b" ", at)
        end = tree.find(b"\0", space)
        target = tree[end + 1 : end + 1 + _NAME_BYTES]
        mode = tree[at:space]
        if (
            space < 0
            or end < 0
            or len(target) < _NAME_BYTES
            or not _MODE.fullmatch(mode)
        ):
            raise clone_failed("a directory that git would not make")
        yield int(mode, 8), tree[space + 1 : end], target
        at = end + 1 + _NAME_BYTES


def _content(unpacked: Unpacked, name: bytes, kind: str) -> bytes:
    found = unpacked.objects.get(name)
    if found is None or found.kind != kind:
        raise clone_failed("an object is missing from the pack")
    return found.content


# The URL has been checked: it holds neither quotes nor backslashes.
_CONFIG: Final = """\
[core]
\trepositoryformatversion = 0
\tfilemode = false
\tbare = false
\tautocrlf = false
[remote "origin"]
\turl = "{url}"
\tfetch = +HEAD:refs/remotes/origin/HEAD
"""

# No attribute of the repository makes a git program change a file, or run one.
_ATTRIBUTES: Final = b"* -text -filter -ident -working-tree-encoding\n"
_REGULAR: Final = 0o100644


def write_repository(
    root: Path,
    url: str,
    commit: str,
    pack: bytes,
    unpacked: Unpacked,
    snapshot: Snapshot,
) -> None:
    """
    Make ``root`` the work tree of a clone of depth 1.

    :param root: Holds the files of ``snapshot`` already.
    :raise OSError: Something could not be written.
    """
    name = f"objects/pack/pack-{unpacked.checksum.hex()}"
    line = f"{commit}\n".encode("ascii")
    files = {
        f"{name}.pack": pack,
        f"{name}.idx": _pack_index(unpacked),
        "refs/heads/main": line,
        "refs/remotes/origin/HEAD": line,
        "config": _CONFIG.format(url=url).encode("ascii"),
        "info/attributes": _ATTRIBUTES,
        "HEAD": b"ref: refs/heads/main\n",
    }
    if snapshot.shallow:
        files["shallow"] = line
    write_files(root / ".git", files)
    _write_stage(root / ".git" / "index", snapshot.names)


def _pack_index(unpacked: Unpacked) -> bytes:
    from dulwich.objects import RawObjectID
    from dulwich.pack import write_pack_index_v2

    entries = sorted((RawObjectID(name), at, crc) for name, at, crc in unpacked.index)
    made = io.BytesIO()
    write_pack_index_v2(made, entries, unpacked.checksum)
    return made.getvalue()


def _write_stage(path: Path, names: dict[str, bytes]) -> None:
    """
    Write git's list of the files it tracks.

    The times and sizes are left out; git reads the files when it needs them.
    """
    from dulwich.index import Index, IndexEntry
    from dulwich.objects import ObjectID

    index = Index(path, read=False)
    for path_in_tree, name in names.items():
        blob = ObjectID(name.hex().encode("ascii"))
        entry = IndexEntry(0, 0, 0, 0, _REGULAR, 0, 0, 0, blob)
        index[path_in_tree.encode("utf-8")] = entry
    index.write()
