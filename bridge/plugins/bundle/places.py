"""Where an import is written, for the author of a plugin.  Nothing here does I/O."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from ...classes import frozen
from ...protocol.limits import SOURCE_BYTES
from ..tree.files import shown

PATTERN: Final = "*"
"""In what stands for all the files that an import with a computed name may mean."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9@._/-]{1,100}")
# Possessive, or a megabyte of blanks would take hours.
_IMPORTS: Final = rb"\b(?:from|import|require)\s*+\(?+\s*+"
_QUOTE: Final = rb"[\"'`]"


@frozen
class Edge:
    """
    An import, as the bundler reports it.

    :ivar importer: The file it is in, relative to the data directory, with ``/``.
    :ivar target: The file it leads to, or the specifier when it leads to none.
    :ivar specifier: What is written in the importer.
    :ivar external: Whether it leads to no file.
    """

    importer: str
    target: str
    specifier: str
    external: bool


def place_of(edge: Edge, read: Callable[[str], bytes]) -> str:
    """
    Where an import is: the file, and the line when it can be found.

    :param read: Return a file's bytes.
    :return: ``file:line``, lines counted from 1, or ``file``.
    """
    try:
        text = read(edge.importer)[:SOURCE_BYTES]
    except OSError:
        text = b""
    known, pattern, _ = edge.specifier.partition(PATTERN)
    quoted = _QUOTE + re.escape(known.encode("utf-8", "replace"))
    if not pattern:
        quoted += _QUOTE
    # Behind anything else it may be a text that only looks the same.
    found = re.search(_IMPORTS + quoted, text) or re.search(quoted, text)
    if found is None:
        return shown(edge.importer)
    return f"{shown(edge.importer)}:{text.count(10, 0, found.end()) + 1}"


def specifier_shown(specifier: str) -> str:
    """Return a specifier as a message may repeat it: in quotes when it is plain."""
    return f'"{specifier}"' if _PLAIN.fullmatch(specifier) else "another module"
