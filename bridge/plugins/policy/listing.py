"""Which files of a plugin's tree the source policy looks at."""

from __future__ import annotations

import os
import posixpath

from attrs import Factory, frozen

from ..esbuild.language import is_source_name
from ..tree.exempt import EXEMPT, is_test_name
from ..tree.tree import Tree


@frozen
class Listing:
    """
    The files of a tree, in the order they are scanned.

    :ivar sources: Paths of the files to scan.
    :ivar documents: Paths of the JSON files.
    :ivar styles: Paths of the style sheets.
    """

    sources: list[str] = Factory(list)
    documents: list[str] = Factory(list)
    styles: list[str] = Factory(list)


def list_files(tree: Tree) -> Listing:
    """List a tree, depth first and by name."""
    listing = Listing()
    for path in sorted(tree.files, key=lambda path: path.split("/")):
        suffix = os.path.splitext(path)[1].lower()
        if suffix == ".json":
            listing.documents.append(path)
        elif suffix == ".css":
            listing.styles.append(path)
        elif _is_scanned(path):
            listing.sources.append(path)
    return listing


def _is_scanned(path: str) -> bool:
    name = posixpath.basename(path)
    return is_source_name(name) and path not in EXEMPT and not is_test_name(name)
