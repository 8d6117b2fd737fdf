"""
The ``.git`` of an installed plugin, written out by hand.

So nothing of the machine's git configuration, templates or hooks can get into it.
"""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import Final

from ....datadir.ownership import make_directories, write_file
from .pack import IndexEntry, Unpacked
from .snapshot import File, Snapshot

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
_PATH_LENGTH_BITS: Final = 0xFFF


def write_repository(
    root: Path, url: str, commit: str, pack: bytes, unpacked: Unpacked, tree: Snapshot
) -> None:
    """
    Make ``root`` the work tree of a clone of depth 1.

    :param root: Holds the files of ``tree`` already.
    :raise OSError: Something could not be written.
    """
    git = root / ".git"
    packs = git / "objects" / "pack"
    for directory in (packs, git / "refs" / "heads", git / "refs" / "remotes/origin"):
        make_directories(directory)
    name = f"pack-{unpacked.checksum.hex()}"
    write_file(packs / f"{name}.pack", pack)
    write_file(packs / f"{name}.idx", pack_index(unpacked))
    write_file(git / "index", stage(tree.files))
    line = f"{commit}\n".encode("ascii")
    write_file(git / "refs" / "heads" / "main", line)
    write_file(git / "refs" / "remotes" / "origin" / "HEAD", line)
    if tree.shallow:
        write_file(git / "shallow", line)
    write_file(git / "config", _CONFIG.format(url=url).encode("ascii"))
    (git / "info").mkdir(mode=0o700)
    write_file(git / "info" / "attributes", _ATTRIBUTES)
    write_file(git / "HEAD", b"ref: refs/heads/main\n")


def pack_index(unpacked: Unpacked) -> bytes:
    """Git's index of a pack, version 2, for packs of less than 2 GiB."""
    entries: list[IndexEntry] = sorted(unpacked.index, key=lambda entry: entry.name)
    fan = [0] * 256
    for entry in entries:
        fan[entry.name[0]] += 1
    for first in range(1, 256):
        fan[first] += fan[first - 1]
    parts = [b"\377tOc", struct.pack(">I", 2), struct.pack(">256I", *fan)]
    parts += [entry.name for entry in entries]
    parts += [struct.pack(">I", entry.crc32) for entry in entries]
    parts += [struct.pack(">I", entry.offset) for entry in entries]
    parts.append(unpacked.checksum)
    return _sealed(parts)


def stage(files: list[File]) -> bytes:
    """
    Git's list of the files it tracks, version 2.

    The times and sizes are left out; git reads the files when it needs them.
    """
    by_path = sorted((file.path.encode("utf-8"), file.name) for file in files)
    parts = [struct.pack(">4sII", b"DIRC", 2, len(by_path))]
    for path, name in by_path:
        flags = min(len(path), _PATH_LENGTH_BITS)
        entry = struct.pack(">6I", *[0] * 6) + struct.pack(">4I", _REGULAR, 0, 0, 0)
        entry += name + struct.pack(">H", flags) + path
        parts.append(entry + b"\0" * (8 - len(entry) % 8))
    return _sealed(parts)


def _sealed(parts: list[bytes]) -> bytes:
    content = b"".join(parts)
    return content + hashlib.sha1(content, usedforsecurity=False).digest()
