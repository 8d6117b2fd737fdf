"""Which files of a plugin's tree the source policy looks at."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from attrs import Factory, frozen

from ...protocol.text import printable
from ..esbuild.language import is_source_name
from ..tree.exempt import EXEMPT, is_test_name
from .hits import Hit


@frozen
class Listing:
    """
    The files of a tree, in the order they are scanned.

    :ivar sources: Relative paths of the files to scan, and their sizes in bytes.
    :ivar documents: Relative paths of the JSON files.
    :ivar styles: Relative paths of the style sheets.
    :ivar hits: What the walk itself refuses.
    """

    sources: list[tuple[str, int]] = Factory(list)
    documents: list[str] = Factory(list)
    styles: list[str] = Factory(list)
    hits: list[Hit] = Factory(list)


def list_tree(root: Path) -> Listing:
    """
    List a tree, depth first and by name, without following any link.

    :raise OSError: A directory cannot be read.
    """
    listing = Listing()
    for entry in _entries(root):
        path = Path(entry.path).relative_to(root).as_posix()
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            listing.hits.append(Hit(printable(path), 1, "symlink"))
        elif entry.name == ".git":
            where = os.path.dirname(path)
            if where:
                listing.hits.append(Hit(printable(where), 1, "submodule"))
        elif not stat.S_ISREG(mode):
            listing.hits.append(Hit(printable(path), 1, "not a regular file"))
        else:
            _sort(listing, path, entry.stat(follow_symlinks=False).st_size)
    return listing


def _sort(listing: Listing, path: str, size: int) -> None:
    suffix = os.path.splitext(path)[1].lower()
    if suffix == ".json":
        listing.documents.append(path)
    elif suffix == ".css":
        listing.styles.append(path)
    elif _is_scanned(path):
        listing.sources.append((path, size))


def _entries(root: Path) -> Iterator[os.DirEntry[str]]:
    pending = _sorted(root)
    while pending:
        entry = pending.pop()
        if not entry.is_dir(follow_symlinks=False):
            yield entry
        elif entry.name != ".git":
            pending.extend(_sorted(entry))


def _sorted(directory: os.PathLike[str]) -> list[os.DirEntry[str]]:
    with os.scandir(directory) as entries:
        return sorted(entries, key=lambda entry: entry.name, reverse=True)


def _is_scanned(path: str) -> bool:
    name = os.path.basename(path)
    return is_source_name(name) and path not in EXEMPT and not is_test_name(name)
