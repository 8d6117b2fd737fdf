"""Lines of a plugin's sources as a terminal may show them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ...classes import frozen
from ...plugins.policy.rules.table import Hit, advice
from ...plugins.tree.files import read_bounded
from ...plugins.tree.jsontext import key_place
from ...plugins.tree.manifest import MANIFEST_FILE
from ...plugins.tree.tree import SIGNATURE_FILE
from ...protocol.errors import Prefix
from ...protocol.limits import MANIFEST_BYTES, SOURCE_BYTES
from ...protocol.text import escaped

SHOWN_CHARACTERS: Final = 120

_FILES: Final = "|".join(map(re.escape, (MANIFEST_FILE, SIGNATURE_FILE)))
_PLACED: Final = re.compile(rf"\w+: (?P<file>{_FILES}):(?P<line>\d+):\d+ ")
_FIELD: Final = re.compile(
    rf"{Prefix.INVALID_ID}: |{Prefix.MANIFEST_INVALID}: (?P<field>[A-Za-z]+)(?:\[\])?: "
)


@frozen
class ShownHit:
    """
    A hit of the source policy.

    :ivar file: Empty when it is the tree's as a whole.
    :ivar source: The line, with control characters written out; empty if there is
        none.
    :ivar advice: What to do about it; empty when nothing is known about the rule.
    """

    file: str
    line: int
    rule: str
    source: str
    advice: str


def source_line(root: Path, hit: Hit) -> str:
    """
    The line that a hit is about.

    :param root: The tree that was scanned.
    :return: Cut, all of it visible; empty when there is no such line.
    """
    try:
        content = read_bounded(root / hit.file, SOURCE_BYTES) if hit.file else b""
    except OSError:
        return ""
    text = content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not 1 <= hit.line <= len(lines):
        return ""
    line = escaped(lines[hit.line - 1].strip())
    return line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "…"


def quoted(root: Path, message: str) -> list[str]:
    """
    Quote the line of a manifest or a signature that a refusal is about.

    :param root: The tree that was refused.
    :param message: The refusal's.
    :return: One line, or none.
    """
    placed = _PLACED.match(message)
    if placed is not None:
        file, line = placed["file"], int(placed["line"])
    else:
        file, line = MANIFEST_FILE, _field_line(root, message)
    source = source_line(root, Hit(file, line, ""))
    return [f"{file}:{line} {source}"] if source else []


def _field_line(root: Path, message: str) -> int:
    """Return the line of the manifest's field that a refusal names, or 0."""
    found = _FIELD.match(message)
    if found is None:
        return 0
    try:
        content = read_bounded(root / MANIFEST_FILE, MANIFEST_BYTES)
    except OSError:
        return 0
    place = key_place(content, found["field"] or "id")
    return place[0] if place else 0


def shown_hit(root: Path, hit: Hit, broken: Mapping[tuple[str, int], str]) -> ShownHit:
    """
    Return a hit for its author.

    :param root: The tree that was scanned.
    :param broken: Why a source does not compile, by its path and line.
    """
    fix = broken.get((hit.file, hit.line), advice(hit.rule))
    return ShownHit(hit.file, hit.line, hit.rule, source_line(root, hit), fix)


def hit_lines(hit: ShownHit) -> list[str]:
    """Return what is printed of a hit: place and rule, the source, what to do."""
    texts = (hit.source, hit.advice and f"fix: {hit.advice}")
    report = Hit(hit.file, hit.line, hit.rule).report
    return [f"  {report}", *(f"      {text}" for text in texts if text)]
