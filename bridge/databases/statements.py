"""
Where a statement ends: SQLite's own tokens, as far as semicolons are concerned.

See https://www.sqlite.org/lang_expr.html and lang_comment.html; ``[`` and the backtick
quote names too.  What is not closed goes on to the end.
"""

from __future__ import annotations

import re
from typing import Final

_BLANK: Final = r"[ \t\n\f\r]"
_COMMENT: Final = r"--[^\n]*|/\*(?s:.)*?(?:\*/|\Z)"
_QUOTED: Final = r"'[^']*(?:'|\Z)|\"[^\"]*(?:\"|\Z)|`[^`]*(?:`|\Z)|\[[^\]]*(?:\]|\Z)"

# A doubled quote is two quoted parts side by side.  Nothing here is tried twice.
_STATEMENT: Final = re.compile(
    rf"(?:[^;'\"`\[/-]++|{_QUOTED}|{_COMMENT}|[/-])*+;", re.ASCII
)
_NOTHING: Final = re.compile(rf"(?:{_BLANK}++|{_COMMENT})*+", re.ASCII)


def statement_end(sql: str) -> int | None:
    """Find where the first statement ends: after its semicolon, if it has one."""
    found = _STATEMENT.match(sql)
    return found.end() if found else None


def is_blank(sql: str) -> bool:
    """Whether there is nothing but whitespace and comments."""
    return _NOTHING.fullmatch(sql) is not None


def is_one_statement(sql: str) -> bool:
    """Whether nothing comes after the first semicolon that ends a statement."""
    end = statement_end(sql)
    return end is None or is_blank(sql[end:])
