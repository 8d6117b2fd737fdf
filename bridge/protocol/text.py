"""Text that is safe to show: no escapes, no hidden characters, no secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TypeAlias

Secrets: TypeAlias = Callable[[], Iterable[str]]
"""Gives what must never appear in a log line, as of now."""

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

# How much more than what is kept is looked at: bounds the work on a huge text
# that is nearly all escapes.
_LOOKED_AT = 2


def no_secrets() -> Iterable[str]:
    """Give nothing: there is nothing to hide."""
    return ()


def visible(text: str) -> str:
    """Take out what does not show, or changes how other text shows."""
    if text.isprintable():
        return text
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if text.isascii():
        return text.translate(_HIDDEN_ASCII)
    return HIDDEN.sub("", text)


def one_line(text: str, most: int) -> str:
    """
    Make what a page sent fit for one line of a log.

    :param most: How many characters are kept.
    """
    return visible(text[: most * _LOOKED_AT])[:most].strip()


def redacted(text: str, secrets: Secrets) -> str:
    """Replace every secret in ``text``."""
    for secret in secrets():
        if secret:
            text = text.replace(secret, REDACTED)
    return text


def timestamp(seconds: float) -> str:
    """
    Write a time as ISO 8601 in UTC, to the millisecond.

    :param seconds: Since the epoch.
    :raise ValueError: The time is not within the years 1 to 9999.
    """
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError):
        raise ValueError("not a time") from None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
