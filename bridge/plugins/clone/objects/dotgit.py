"""
The ``.git`` of an installed plugin.

It is written file by file, as ``dulwich`` has the formats, so nothing of the machine's
git configuration, templates or hooks can get into it.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

from ....datadir.ownership import make_directories, write_file
from .pack import Unpacked
from .snapshot import Snapshot

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
    git = root / ".git"
    packs = git / "objects" / "pack"
    for directory in (packs, git / "refs" / "heads", git / "refs" / "remotes/origin"):
        make_directories(directory)
    name = f"pack-{unpacked.checksum.hex()}"
    write_file(packs / f"{name}.pack", pack)
    _write_pack_index(packs / f"{name}.idx", unpacked)
    _write_stage(git / "index", snapshot.names)
    line = f"{commit}\n".encode("ascii")
    write_file(git / "refs" / "heads" / "main", line)
    write_file(git / "refs" / "remotes" / "origin" / "HEAD", line)
    if snapshot.shallow:
        write_file(git / "shallow", line)
    write_file(git / "config", _CONFIG.format(url=url).encode("ascii"))
    (git / "info").mkdir(mode=0o700)
    write_file(git / "info" / "attributes", _ATTRIBUTES)
    write_file(git / "HEAD", b"ref: refs/heads/main\n")


def _write_pack_index(path: Path, unpacked: Unpacked) -> None:
    from dulwich.objects import RawObjectID
    from dulwich.pack import write_pack_index_v2

    entries = sorted((RawObjectID(name), at, crc) for name, at, crc in unpacked.index)
    made = io.BytesIO()
    write_pack_index_v2(made, entries, unpacked.checksum)
    write_file(path, made.getvalue())


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
