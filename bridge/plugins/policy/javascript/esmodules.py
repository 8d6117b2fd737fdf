"""What a source imports: statements of an output, which start lines of their own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from ..rules.imports import import_rule, unescape

_TEXT: Final = r"(?:\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+')"
# Names can be strings, too: `import { "a }" as b } from`, `export * as "a" from`.
_IMPORT: Final = re.compile(
    r"(?:import|export)\b(?P<head>[^\"'{;()=]*+)"
    rf"(?:(?P<text>{_TEXT})|\{{(?:[^\"'}}]|{_TEXT})*+\}})?+"
    rf"(?P<tail>[^\"'{{;()=]*+)(?P<last>{_TEXT})?+"
)


def broken_specifiers(
    name: str, text: str, modules: Collection[str]
) -> Iterator[tuple[int, str]]:
    """
    Check what the statements of an output import.

    :param name: The source's path in the tree.
    :param modules: Names of modules the host provides.
    :return: Where each statement begins that breaks a rule, and the rule's name.
    """
    for statement in _statements(text):
        literal = _specifier(statement)
        rule = literal and import_rule(name, unescape(literal[1:-1]), modules)
        if rule:
            yield statement.start(), rule


def _specifier(statement: re.Match[str]) -> str | None:
    """Return the literal that names the module of a statement, in its quotes."""
    head, text = statement["head"].rstrip(), statement["text"]
    is_from = head.endswith("from") or not head
    if text is not None and is_from:
        return text
    return statement["last"] if statement["tail"].rstrip().endswith("from") else None


def _statements(text: str) -> Iterator[re.Match[str]]:
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
