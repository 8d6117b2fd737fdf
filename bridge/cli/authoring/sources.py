"""Lines of a plugin's sources as a terminal may show them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

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


def hit_lines(hit: Hit, source: str) -> list[str]:
    """Return what is printed of a hit: place and rule, the source, what to do."""
    return [f"  {hit.report}", *(f"      {t}" for t in (source, _fix(hit)) if t)]


def _fix(hit: Hit) -> str:
    text = advice(hit.rule)
    return f"fix: {text}" if text else ""
