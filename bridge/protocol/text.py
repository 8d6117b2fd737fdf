"""
Text that is safe to show: no escapes, no hidden characters, no secrets.

::

    visible       removes terminal sequences, and what hides or reorders text
    printable     removes every character that is not printed, for names of files
    escaped       writes such characters as escapes, for lines of source code
    ascii_line    one line of ASCII without markup, for prompts
    one_line      what a page sent, cut and trimmed for a log
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TypeAlias

Secrets: TypeAlias = Callable[[], Iterable[str]]
"""Returns what must not appear in a log line at this moment."""

REDACTED = "[redacted]"

# A terminal's control sequences, its string commands, and its shorter ones.
_ESCAPES = re.compile(
    "\x1b(?:\\[[0-?]*+[ -/]*+[@-~]"
    "|[\\]PX^_][^\x07\x1b]*+(?:\x07|\x1b\\\\)?"
    "|[ -/]*+[0-~])"
)

# Control characters, line separators, bidirectional controls, lone surrogates.
HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)

# Several times faster, but only for ASCII.
_HIDDEN_ASCII = dict.fromkeys([*range(0x20), 0x7F])

# By Unicode category: controls, formats, surrogates, private and unassigned characters;
# separators of lines and of paragraphs.
_UNPRINTED = ("C", "Zl", "Zp")

_NOT_PLAIN = re.compile(r"[^ -%'-;=?-~]")
ELLIPSIS = "..."
"""What stands for the part of a text that was cut."""

# How much more than what is kept is looked at: bounds the work on a huge text
# that is nearly all escapes.
_LOOKED_AT = 2


def no_secrets() -> Iterable[str]:
    """Return nothing: there is nothing to hide."""
    return ()


def visible(text: str) -> str:
    """Remove what does not show, or changes how other text shows."""
    if text.isprintable():
        return text
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if text.isascii():
        return text.translate(_HIDDEN_ASCII)
    return HIDDEN.sub("", text)


def printable(text: str, keep: str = "") -> str:
    """
    Remove every character that is not printed.

    :param keep: Characters that stay all the same.
    """
    return "".join(c for c in text if c in keep or not _is_unprinted(c))


def escaped(text: str) -> str:
    """Write what would not be printed as escapes, as in Python's strings."""
    return "".join(
        c.encode("unicode_escape", "surrogatepass").decode("ascii")
        if _is_unprinted(c)
        else c
        for c in text
    )


def _is_unprinted(character: str) -> bool:
    return unicodedata.category(character).startswith(_UNPRINTED)


def ascii_line(text: str, most: int) -> str:
    """
    Make one line of printable ASCII without ``<``, ``>``, ``&`` and double quotes.

    :param most: Characters; what is longer ends in ``...``.
    """
    line = " ".join(text.split())
    plain = _NOT_PLAIN.sub("?", line).replace('"', "'")
    return plain if len(plain) <= most else plain[: most - len(ELLIPSIS)] + ELLIPSIS


def one_line(text: str, most: int) -> str:
    """
    Cut what a page sent to one line of a log.

    :param most: How many characters are kept.
    """
    return visible(text[: most * _LOOKED_AT])[:most].strip()


def redacted(text: str, secrets: Secrets) -> str:
    """Replace every secret in ``text``."""
    for secret in secrets():
        if secret:
            text = text.replace(secret, REDACTED)
    return text


def timestamp(seconds: float, precision: str = "milliseconds") -> str:
    """
    Format a time as ISO 8601 in UTC.

    :param seconds: Since the epoch.
    :param precision: ``milliseconds`` or ``seconds``.
    :raise ValueError: The time is not within the years 1 to 9999.
    """
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError):
        raise ValueError("not a time") from None
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")
