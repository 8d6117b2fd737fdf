"""
Scan a plugin's tree against the source policy.

Everything here blocks and is meant for a thread; no step of it keeps other threads
from running for longer than a few milliseconds.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path

from ...protocol.errors import Prefix, plugin_error
from ...protocol.limits import POLICY_HITS, SOURCE_BYTES, SOURCE_FILES
from .budget import Budget
from .hits import Hit, printable
from .imports import TOOLING, document_lines
from .packages import package_hits
from .shape import MINIFIED, PACKED, shape_hits
from .styles import style_hits
from .tree import Listing, list_tree

_UNREAD = frozenset({MINIFIED, PACKED})


def scan_tree(root: Path, profile_modules: Collection[str] = ()) -> list[Hit]:
    """
    Scan every source file of a tree.

    :param root: The tree; links in it are reported and never followed.
    :param profile_modules: Names of modules the host provides, which may be imported.
    :return: In order of report, at most ``POLICY_HITS``.
    :raise OSError: A file cannot be read.
    """
    return list(islice(_tree_hits(root, profile_modules), POLICY_HITS))


def scan_source(
    name: str, content: bytes, profile_modules: Collection[str] = ()
) -> list[Hit]:
    """
    Scan one source file.

    :param name: Its path in the tree, with ``/``: imports are judged from there.
    :param profile_modules: See ``scan_tree``.
    :return: In order of report, at most ``POLICY_HITS``.
    """
    return list(
        islice(_source_hits(name, content, profile_modules, Budget()), POLICY_HITS)
    )


def refuse(hits: Sequence[Hit]) -> None:
    """
    Refuse the operation if there are hits.

    :raise BridgeError: Names the first one.
    """
    if hits:
        raise plugin_error(Prefix.POLICY, hits[0].report)


def _tree_hits(root: Path, modules: Collection[str]) -> Iterator[Hit]:
    listing = list_tree(root)
    yield from listing.hits
    yield from _document_hits(root, listing)
    if len(listing.sources) > SOURCE_FILES:
        yield Hit("", 0, f"more than {SOURCE_FILES} source files")
        return
    total, budget = 0, Budget()
    for path, size in listing.sources:
        total += size
        if total > SOURCE_BYTES:
            yield Hit("", 0, f"more than {SOURCE_BYTES} bytes of source")
            return
        yield from _source_hits(path, (root / path).read_bytes(), modules, budget)


def _document_hits(root: Path, listing: Listing) -> Iterator[Hit]:
    """Judge what is no source, and yet tells the bundler what to read."""
    for path in listing.documents:
        content = (root / path).read_bytes()
        for line in document_lines(posixpath.basename(path), content):
            yield Hit(printable(path), line, TOOLING)
        if posixpath.basename(path).lower() == "package.json":
            for line, rule in package_hits(path, content):
                yield Hit(printable(path), line, rule)
    for path in listing.styles:
        for line, rule in style_hits(path, (root / path).read_bytes()):
            yield Hit(printable(path), line, rule)


def _source_hits(
    name: str, content: bytes, modules: Collection[str], budget: Budget
) -> Iterator[Hit]:
    text = content.decode("utf-8", "replace").lstrip("\ufeff")
    text = text.replace("\r\n", "\n")
    shapes = list(islice(shape_hits(text), POLICY_HITS))
    constructs: list[tuple[int, str]] = []
    is_full = len(shapes) == POLICY_HITS
    if not is_full and not _UNREAD.intersection(rule for _, rule in shapes):
        # The parser is large: a daemon that scans nothing does without it.
        from .source import source_hits

        # A carriage return alone ends a comment too.
        constructs = source_hits(name, text.replace("\r", "\n"), modules, budget)
    where = printable(name)
    tooling = [hit for hit in constructs if hit[1] == TOOLING]
    others = [hit for hit in constructs if hit[1] != TOOLING]
    for line, rule in [*tooling, *shapes, *others]:
        yield Hit(where, line, rule)
