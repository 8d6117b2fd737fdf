"""Rules on what a ``package.json`` makes an import mean."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ....protocol.limits import MANIFEST_BYTES
from .imports import TOOLING, import_rule

UNREADABLE: Final = "unreadable package.json"

_FIELDS: Final = frozenset({"main", "module", "browser", "exports", "imports"})


class _Pairs(list[tuple[str, Any]]):
    """An object, with the keys that are in it twice."""


def package_hits(path: str, content: bytes) -> Iterator[tuple[int, str]]:
    """
    Check the fields of a ``package.json`` that name files or packages.

    :param path: The file's, in the tree.
    :return: Line numbers, from 1, and names of rules.
    """
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        # One as large as that is not worth finding out what the bundler reads in it.
        whole = text if len(content) <= MANIFEST_BYTES else ""
        document = json.loads(whole, object_pairs_hook=_Pairs, strict=False)
    except (ValueError, RecursionError):
        yield 1, UNREADABLE
        return
    named = _named(document) if isinstance(document, _Pairs) else ()
    for name in named:
        rule = import_rule(path, _relative(name))
        if rule not in (None, TOOLING):  # those are found in every JSON file
            yield _line(text, name), str(rule)


def _named(document: _Pairs) -> Iterator[str]:
    """The strings in the fields that matter, however deep."""
    pending = [value for field, value in reversed(document) if field in _FIELDS]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, _Pairs):
            pending.extend(inner for _, inner in reversed(value))
        elif isinstance(value, list):
            pending.extend(reversed(value))


def _relative(name: str) -> str:
    """``lib/a.js`` means ``./lib/a.js`` there; what has a scheme stays as it is."""
    is_path = name.startswith((".", "/", "\\", "#")) or ":" in name.partition("/")[0]
    return name if is_path else f"./{name}"


def _line(text: str, name: str) -> int:
    """The line that has ``name``; the first one when it is written with escapes."""
    return text.count("\n", 0, max(0, text.find(json.dumps(name)))) + 1
