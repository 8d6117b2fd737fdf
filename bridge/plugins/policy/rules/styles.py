"""Rules on what a style sheet refers to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ....protocol.limits import STYLE_BYTES
from .imports import import_rule

TOO_LARGE: Final = f"more than {STYLE_BYTES} bytes of style sheet"

_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{1,6})(?:\r\n|\s)?|(\r\n|[\s\S]))")
_STRING = r"\"(?:[^\"\\\n]|\\[\s\S])*+\"?|'(?:[^'\\\n]|\\[\s\S])*+'?"
_TOKEN = re.compile(
    r"(?P<comment>/\*[^*]*(?:\*(?!/)[^*]*)*+(?:\*/)?)"
    rf"|(?P<string>{_STRING})"
    r"|(?P<word>@?(?:[\w-]|[^\x00-\x7f]|\\[0-9A-Fa-f]{1,6}\s?|\\[^\n])++)"
    r"|(?P<open>\()|(?P<end>[;{}])"
)
_BARE = re.compile(r"\s*((?:[^\"'()\\\s]|\\[\s\S])++)\s*\)")
_QUOTED = re.compile(rf"\s*({_STRING})")
# What is not a file: the bundler leaves it as it is.
_ELSEWHERE = re.compile(r"(?i)(?:https?|data):|//|#")


def style_hits(path: str, content: bytes) -> Iterator[tuple[int, str]]:
    """
    Check what the ``@import`` and ``url()`` of a style sheet name.

    :param path: The file's, in the tree.
    :return: Line numbers, from 1, and names of rules.
    """
    if len(content) > STYLE_BYTES:
        yield 1, TOO_LARGE
        return
    text = content.decode("utf-8", "replace")
    line, counted = 1, 0
    for place, name in _references(text):
        rule = None if _ELSEWHERE.match(name) else import_rule(path, _relative(name))
        if rule is not None:
            line, counted = line + text.count("\n", counted, place), place
            yield line, rule


def _references(text: str) -> Iterator[tuple[int, str]]:
    word, is_import = "", False
    at = 0
    while (token := _TOKEN.search(text, at)) is not None:
        at = token.end()
        if token["word"] is not None:
            word = _unescaped(token["word"]).lower()
            is_import = is_import or word == "@import"
            continue
        if token["string"] is not None and is_import:
            yield token.start(), _unescaped(token["string"][1:].rstrip("\"'"))
        elif token["open"] is not None and word == "url":
            named = _BARE.match(text, at) or _QUOTED.match(text, at)
            if named is not None:
                at = named.end()
                yield token.start(), _unescaped(named[1].strip("\"'"))
        elif token["end"] is not None:
            is_import = False
        word = ""


def _relative(name: str) -> str:
    """``a.css`` means ``./a.css`` there, before it means a package."""
    is_path = name.startswith((".", "/", "\\")) or ":" in name.partition("/")[0]
    return name if is_path else f"./{name}"


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_decoded, text)


def _decoded(match: re.Match[str]) -> str:
    if match[1] is None:
        return "" if match[2] in ("\n", "\r\n", "\f") else match[2]
    code = int(match[1], 16)
    return chr(code) if 0 < code < 0x110000 else "\ufffd"
