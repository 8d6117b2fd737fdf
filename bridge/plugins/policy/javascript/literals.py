"""
Whether regular expressions compile.

The bundler copies a literal as it is, and a browser that cannot compile one refuses the
whole script it is in.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from regress import Regex, RegressError

_FLAGS: Final = frozenset("dgimsuvy")
_REMEMBERED: Final = 1024

# A property of characters, another escape, brackets of a class, a character that means
# something when it is doubled in a class under the flag v, and everything else.
_PART: Final = re.compile(
    r"\\[pP]\{(?P<property>[\w=]*)\}|(?P<escape>\\(?:u\{|.))|(?P<open>\[\^?)|(?P<close>\])"
    r"|(?P<single>[&!#%,:;<=>@`~$*+.?^])|[^]\\\[&!#%,:;<=>@`~$*+.?^]+|\\",
    re.DOTALL,
)
_QUANTIFIER: Final = re.compile(r"[*+?]|\{[0-9]+(?:,[0-9]*)?\}")
_IN_CLASS: Final = re.compile(
    r"\\(?:[dDsSwWfnrtvbq\W]|0(?![0-9])|c[A-Za-z]|x[0-9A-Fa-f]{2}"
    r"|u(?:[0-9A-Fa-f]{4}|\{[0-9A-Fa-f]+\}))",
    re.ASCII,
)
_OF_TEXTS: Final = re.compile(r"Basic_Emoji|Emoji_Keycap_Sequence|RGI_\w+")


@lru_cache(maxsize=_REMEMBERED)
def is_regex(literal: str) -> bool:
    """
    Whether a browser can compile a regular expression.

    :param literal: With its slashes and flags; as short as a line of a source is.
    """
    pattern, _, flags = literal[1:].rpartition("/")
    is_doubled = len(set(flags)) < len(flags) or {"u", "v"}.issubset(flags)
    if is_doubled or not _FLAGS.issuperset(flags):
        return False
    # The other flags change nothing but what it matches.
    mode = "u" if "u" in flags else "v" if "v" in flags else ""
    try:
        whole, outside = _plain(pattern, mode)
        Regex(whole, mode)
        if mode == "v":
            # What is outside of classes is read under this flag as under the other.
            Regex(outside, "u")
    except RegressError:
        return False
    return True


def _plain(pattern: str, mode: str) -> tuple[str, str]:
    """
    Rewrite a pattern so that ``regress`` reads it in no time, and as browsers do.

    :return: The whole, and the whole with the same simple class in place of each.
    :raise RegressError: It is no pattern.
    """
    whole: list[str] = []
    outside: list[str] = []
    depth = 0
    for part in _PART.finditer(pattern):
        text = part[0]
        if part["property"] is not None and mode:
            # It stands for thousands of characters, which are looked up each time.
            text = _plain_property(text, mode)
        elif part["escape"] is not None:
            text = _plain_escape(part, mode, depth)
        elif part["open"] is not None and (mode == "v" or not depth):
            depth += 1
            outside += ["[a]"] if depth == 1 else []
        elif part["close"] is not None and depth:
            depth -= 1
            whole.append(text)
            continue
        elif part["single"] is not None and mode == "v" and depth:
            # Only two of the same mean something: `regress` refuses any two.
            around = pattern[part.start() - 1], pattern[part.end() : part.end() + 1]
            text = text if text in around else f"\\x{ord(text):02x}"
        whole.append(text)
        if not depth:
            outside.append(r"\w" if part["property"] is not None else text)
    return "".join(whole), "".join(outside)


def _plain_escape(part: re.Match[str], mode: str, depth: int) -> str:
    """
    Spell an escape that ``regress`` reads otherwise than browsers do.

    :raise RegressError: It is an edge of a word that is repeated, or one that a class
        may not have under the flag v.
    """
    text = part[0]
    if text == r"\u{" and not mode:
        return "u{"  # that many times the letter
    if text in (r"\b", r"\B") and not depth:
        if _QUANTIFIER.match(part.string, part.end()):
            raise RegressError("nothing to repeat")
    elif mode == "v" and depth and not _IN_CLASS.match(part.string, part.start()):
        raise RegressError("no such escape")
    elif text == r"\b":
        return r"\x08"
    return text


@lru_cache(maxsize=_REMEMBERED)
def _plain_property(escape: str, mode: str) -> str:
    """Replace a property by something small that may stand in the same places."""
    Regex(escape, mode)
    return r"[\q{ab}]" if _OF_TEXTS.fullmatch(escape, 3, len(escape) - 1) else r"\w"
