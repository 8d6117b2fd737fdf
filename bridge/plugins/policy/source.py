"""What the syntax of one source file breaks."""

from __future__ import annotations

import os
from collections.abc import Collection

from .budget import Budget, TooComplexError
from .finding import Finding
from .literals import Page
from .parsing import TYPESCRIPT, BadSyntaxError, grammar, pieces
from .reading import Reading

_SCRIPTS = frozenset({".js", ".jsx", ".mjs", ".cjs"})
# People write expressions that take less than half a step for each byte.
_STEPS_PER_BYTE = 1
_STEPS = 2_000


def source_hits(
    name: str, text: str, modules: Collection[str], budget: Budget
) -> list[tuple[int, str]]:
    """
    Judge the syntax of a file.

    :param name: Its path in the tree; its suffix says in which language it is.
    :param text: With its lines ended by LF alone.
    :param modules: Names of modules the host provides.
    :param budget: Of the tree the file is in.
    :return: Line numbers, from 1, and names of rules; those on tooling come first.
    """
    suffix = os.path.splitext(name)[1]
    content = text.encode()
    if suffix not in TYPESCRIPT:
        # This parser takes a lone "&" in the text of elements for broken. As "|" it is
        # text, too, and as an operator it joins the same operands.
        content = content.replace(b"&", b"|")
    finding = Finding(name, modules)
    reading = Reading(finding, suffix in _SCRIPTS)
    page = Page(b"", 0, _STEPS + _STEPS_PER_BYTE * len(content))
    refused: list[tuple[int, str]] = []
    try:
        for piece in pieces(content, grammar(suffix), budget):
            page = Page(piece.data, piece.row, page.steps)
            budget.spend(reading.read(piece.root, piece.end, page))
        return finding.hits()
    except BadSyntaxError as e:
        refused.append((e.args[0], "syntax error"))
    except TooComplexError:
        refused.append((page.row + 1, "too complex to check"))
    return sorted([*finding.hits(), *refused])
