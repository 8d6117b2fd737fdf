"""The import and export statements of an output; each starts a line of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_TEXT: Final = r"(?:\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+')"
# Names can be strings, too: `import { "a }" as b } from`, `export * as "a" from`.
_IMPORT: Final = re.compile(
    r"(?:import|export)\b(?P<head>[^\"'{;()=]*+)"
    rf"(?:(?P<text>{_TEXT})|\{{(?:[^\"'}}]|{_TEXT})*+\}})?+"
    rf"(?P<tail>[^\"'{{;()=]*+)(?P<last>{_TEXT})?+"
)


def specifier(statement: re.Match[str]) -> str | None:
    """Return the literal that names the module of a statement, in its quotes."""
    head, text = statement["head"].rstrip(), statement["text"]
    is_from = head.endswith("from") or not head
    if text is not None and is_from:
        return text
    return statement["last"] if statement["tail"].rstrip().endswith("from") else None


def import_statements(text: str) -> Iterator[re.Match[str]]:
    """Find the statements of an output."""
    # With a line end in front, a place in here is the next one in the text.
    shifted = f"\n{text}"
    for word in ("\nimport", "\nexport"):
        at = shifted.find(word)
        while at >= 0:
            statement = _IMPORT.match(text, at)
            if statement is not None:
                yield statement
            at = shifted.find(word, at + 1)
