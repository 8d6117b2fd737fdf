"""
Scan a plugin's tree against the source policy.

Everything here blocks and is meant for a thread; no step of it keeps other threads
from running for longer than a few milliseconds.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path

from ...protocol.errors import Prefix, plugin_error
from ...protocol.limits import POLICY_HITS, SOURCE_BYTES, SOURCE_FILES
from .finding import Finding
from .hits import Hit, printable
from .imports import TOOLING, document_lines
from .literals import Page, TooComplexError
from .parsing import BadSyntaxError, grammar, pieces
from .reading import Reading
from .shape import MINIFIED, PACKED, shape_hits
from .tree import list_tree

_SCRIPTS = frozenset({".js", ".jsx", ".mjs", ".cjs"})
_STEPS_PER_BYTE = 8
_STEPS = 10_000


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
    return list(islice(_source_hits(name, content, profile_modules), POLICY_HITS))


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
    for path in listing.documents:
        content = (root / path).read_bytes()
        for line in document_lines(posixpath.basename(path), content):
            yield Hit(printable(path), line, TOOLING)
    if len(listing.sources) > SOURCE_FILES:
        yield Hit("", 0, f"more than {SOURCE_FILES} source files")
        return
    total = 0
    for path, size in listing.sources:
        total += size
        if total > SOURCE_BYTES:
            yield Hit("", 0, f"more than {SOURCE_BYTES} bytes of source")
            return
        yield from _source_hits(path, (root / path).read_bytes(), modules)


def _source_hits(name: str, content: bytes, modules: Collection[str]) -> Iterator[Hit]:
    text = content.decode("utf-8", "replace").lstrip("\ufeff")
    text = text.replace("\r\n", "\n")
    shapes = list(shape_hits(text))
    constructs: list[tuple[int, str]] = []
    if not {MINIFIED, PACKED}.intersection(rule for _, rule in shapes):
        # A carriage return alone ends a comment too.
        constructs = _constructs(name, text.replace("\r", "\n"), modules)
    where = printable(name)
    tooling = [hit for hit in constructs if hit[1] == TOOLING]
    others = [hit for hit in constructs if hit[1] != TOOLING]
    for line, rule in [*tooling, *shapes, *others]:
        yield Hit(where, line, rule)


def _constructs(
    name: str, text: str, modules: Collection[str]
) -> list[tuple[int, str]]:
    content = text.encode()
    suffix = os.path.splitext(name)[1]
    finding = Finding(name, modules)
    reading = Reading(finding, suffix in _SCRIPTS)
    page = Page(b"", 0, _STEPS + _STEPS_PER_BYTE * len(content))
    refused: list[tuple[int, str]] = []
    try:
        for piece in pieces(content, grammar(suffix)):
            page = Page(piece.data, piece.row, page.steps)
            reading.read(piece.root, piece.end, page)
        return finding.hits()
    except BadSyntaxError as e:
        refused.append((e.args[0], "syntax error"))
    except TooComplexError:
        refused.append((page.row + 1, "too complex to check"))
    return sorted([*finding.hits(), *refused])
