"""
The names that a page of any site has: ECMAScript's and the web platform's.

The data is a copy of a part of the npm package ``globals``; its version, its address
and its licence are next to it.  It is read at the first scan.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Final

WRAPPED: Final = frozenset({"module", "exports"})
"""
Names that are free in a CommonJS source and yet its own: the bundler puts it into a
function with these parameters.
"""

RESERVED: Final = frozenset(
    {
        *("await", "break", "case", "catch", "class", "const", "continue", "debugger"),
        *("default", "delete", "do", "else", "enum", "export", "extends", "false"),
        *("finally", "for", "function", "if", "import", "in", "instanceof", "new"),
        *("null", "return", "super", "switch", "this", "throw", "true", "try"),
        *("typeof", "var", "void", "while", "with"),
    }
)
"""Words that are no name in any module."""


PROPOSED: Final = frozenset({"AsyncIterator"})
"""
Names that ECMAScript may get, and that compiled code asks for: TypeScript writes
``typeof AsyncIterator === "function" ? AsyncIterator : Object`` into async generators.
"""


@lru_cache(maxsize=1)
def standard_names() -> frozenset[str]:
    """Return the names; blocks when it is called first."""
    path = Path(__file__).parent / "globals" / "names.json"
    data = json.loads(path.read_text("utf-8"))
    return PROPOSED.union(data["ecmascript"], data["web"])
