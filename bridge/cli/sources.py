"""Lines of a plugin's sources as a terminal may show them."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Final

from ..plugins.files import read_bounded
from ..plugins.policy.advice import advice
from ..plugins.policy.hits import Hit
from ..protocol.limits import SOURCE_BYTES

SHOWN_CHARACTERS: Final = 120


def visible(text: str) -> str:
    """Give a line in which what would be invisible, or obeyed, is written out."""
    return "".join(
        character
        if not unicodedata.category(character).startswith(("C", "Zl", "Zp"))
        else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in text
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
    line = visible(lines[hit.line - 1].strip())
    return line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "…"


def hit_lines(hit: Hit, source: str) -> list[str]:
    """Return what is printed of a hit: place and rule, the source, what to do."""
    return [f"  {hit.report}", *(f"      {t}" for t in (source, _fix(hit)) if t)]


def _fix(hit: Hit) -> str:
    text = advice(hit.rule)
    return f"fix: {text}" if text else ""
