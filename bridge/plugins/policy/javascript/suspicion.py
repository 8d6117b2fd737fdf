"""
Which outputs need a closer look.

Most break no rule, and a few searches show it.  What these find may be harmless;
what they do not find breaks no rule of ``constructs``.
"""

from __future__ import annotations

import re
from typing import Final

from ..rules.table import ASSIGNED, CALLBACKS, CODE_TAGS, MEMBERS

_WORDS: Final = tuple(
    sorted(
        (MEMBERS - {"constructor", "srcdoc"})
        | ASSIGNED
        | {CALLBACKS, "import(", "import.source(", "import.defer("}
        | {".document.location", ".document?.location"}
    )
)
_LOWERED: Final = (
    *("srcdoc", "<script"),
    *("eslint.config", "vitest.config", "sign-plugin"),
)
_TAGS: Final = "|".join(sorted(CODE_TAGS))
_ELEMENT: Final = re.compile(
    rf"createElement(?!\w)(?!\(\"(?!(?:{_TAGS})\")[a-z0-9]+\"[,)])"
    r"|createElementNS"
)
_CONSTRUCTOR: Final = re.compile(r"\.constructor|(?<![\w$])constructor(?!\()")
_TIMER: Final = re.compile(
    r"\.set(?:Timeout|Interval)\b(?!\()"
    r"|set(?:Timeout|Interval)(?:\??\.|\((?!(?:async )?\([\w$, ]*+\) =>"
    r"|[\w$]++(?:\.[\w$]++)*+[,)]))"
)
_HARMLESS: Final = re.compile(
    r"document\.(?!cookie\b|location\b)[A-Za-z]"
    r"|location\.(?!href\b|assign\b|replace\b)[A-Za-z]"
    r"|Reflect\.(?!get\b|set\b|apply\b)[A-Za-z]"
    r"|set(?:Timeout|Interval)\("
)
# A free name is no member.
_HARMLESS_ELEMENT: Final = re.compile(
    rf"jsx\((?:\"(?!(?:{_TAGS})\")[a-z0-9]+\"|[A-Za-z_$][\w$.]*)[,)]|fragment\b"
)


def is_suspicious(text: str, mark: str) -> bool:
    """
    Return whether it takes a closer look to know that an output breaks no rule.

    :param mark: What stands in front of each free name.
    """
    lowered = text.lower()
    if any(word in text for word in _WORDS) or any(
        word in lowered for word in _LOWERED
    ):
        return True
    if "constructor" in text and _CONSTRUCTOR.search(text):
        return True
    if _TIMER.search(text) or ("createElement" in text and _ELEMENT.search(text)):
        return True
    at = text.find(mark)
    while at >= 0:
        is_element = text[at - 1 : at] == "."
        at += len(mark)
        if not (_HARMLESS_ELEMENT if is_element else _HARMLESS).match(text, at):
            return True
        at = text.find(mark, at)
    return False
