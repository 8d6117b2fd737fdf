"""
Text that is safe to show: no escapes, no hidden characters, no secrets.

::

    visible       removes terminal sequences, and what hides or reorders text
    printable     removes single characters that are not shown, for names of files
    shown         the same, and cut
    escaped       writes such characters as escapes, for lines of source code
    ascii_line    one line of ASCII without markup, for prompts
    one_line      what a page sent, cut and trimmed for a log
    nearest       a hint with the nearest of some known words
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final, TypeAlias

from .limits import NAME_CHARACTERS

Secrets: TypeAlias = Callable[[], Iterable[str]]
"""Returns what must not appear in a log line at this moment; ``tuple``: nothing."""

REDACTED = "[redacted]"

PLUGIN_ID: Final = r"[a-z0-9][a-z0-9-]{1,39}"
"""Matches every plugin's id, as a whole."""

# A terminal's control sequences, its string commands, and its shorter ones.
_ESCAPES = re.compile(
    "\x1b(?:\\[[0-?]*+[ -/]*+[@-~]"
    "|[\\]PX^_][^\x07\x1b]*+(?:\x07|\x1b\\\\)?"
    "|[ -/]*+[0-~])"
)

# Parts of classes in patterns, which mean the same in Python and in JavaScript.
SPACES: Final = (
    r"\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""What ``str.strip`` removes; a JavaScript pattern's class of spaces is another one."""

CONTROLS: Final = r"\u0000-\u001f\u007f-\u009f"
"""The Unicode category Cc."""

JOINERS: Final = r"\u200c\u200d"
"""They are in the words of some scripts, and in emoji, between two others."""

INVISIBLES: Final = (
    # Formats but the joiners, and separators of lines and paragraphs: Cf, Zl, Zp.
    r"\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f"
    r"\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
    # Private use: Co.
    r"\ue000-\uf8ff"
    "\U000f0000-\U000ffffd\U00100000-\U0010fffd"
    # Letters and symbols that are blank.
    r"\u115f\u1160\u2800\u3164\uffa0"
)
"""What does not show, turns other text around, or looks different to everybody."""

INVISIBLE: Final = re.compile(f"[{CONTROLS}{INVISIBLES}\ud800-\udfff]")
"""A character that is not shown: the above, and half of a surrogate pair."""

_SHOWN_CHARACTERS: Final = 200
_NOT_PLAIN = re.compile(r"[^ -%'-;=?-~]")
ELLIPSIS = "..."
"""What stands for the part of a text that was cut."""

# How much more than what is kept is looked at: bounds the work on a huge text
# that is nearly all escapes.
_LOOKED_AT = 2


def visible(text: str) -> str:
    """Remove what does not show, or changes how other text shows."""
    if text.isascii() and text.isprintable():
        return text
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return INVISIBLE.sub("", text)


def in_line(text: str) -> str:
    """Make one line of several, such as the bundler's, of what shows."""
    return visible(" ".join(text.split("\n")))


def printable(text: str, keep: str = "") -> str:
    """
    Remove every character that is not printed.

    :param keep: Characters that stay all the same.
    """
    return INVISIBLE.sub(lambda c: c[0] if c[0] in keep else "", text)


def shown(path: str) -> str:
    """
    A file's name as a message may repeat it.

    Nothing that controls a terminal or the direction of text is left in it.
    """
    return printable(path)[:_SHOWN_CHARACTERS]


def escaped(text: str) -> str:
    """Write what would not be printed as escapes, as in Python's strings."""
    return INVISIBLE.sub(
        lambda c: c[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text
    )


def ascii_line(text: str, most: int) -> str:
    """
    Make one line of printable ASCII without ``<``, ``>``, ``&`` and double quotes.

    :param most: Characters; what is longer ends in ``...``.
    """
    line = " ".join(text.split())
    return shortened(_NOT_PLAIN.sub("?", line).replace('"', "'"), most)


def shortened(text: str, most: int) -> str:
    """Cut what has more than ``most`` characters, so that it ends in ``...``."""
    return text if len(text) <= most else text[: most - len(ELLIPSIS)] + ELLIPSIS


def one_line(text: str, most: int, secrets: Secrets = tuple) -> str:
    """
    Cut what a page sent to one line of a log.

    :param most: How many characters are kept.
    :param secrets: Replaced before it is cut: part of one would not be recognized.
    """
    return redacted(visible(text[: most * _LOOKED_AT]), secrets)[:most].strip()


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


def iso_time(milliseconds: int) -> str:
    """
    A time as pages show it: ISO 8601 in UTC, to the second.

    :param milliseconds: Since the epoch; of a damaged record it is empty.
    """
    if milliseconds <= 0:
        return ""
    try:
        return timestamp(milliseconds // 1000, "seconds")
    except ValueError:
        return ""


def nearest(word: str, known: Iterable[str]) -> str:
    """
    Return a hint with the nearest of the known words; empty if none is near.

    The hint never has anything of ``word`` itself, which a caller has sent.
    """
    if len(word) > NAME_CHARACTERS:
        return ""  # comparing takes a time that grows with the square of the length
    # It takes as long to load as the rest of this package, and is needed only here.
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), 1)
    return f"; did you mean {found[0]}?" if found else ""
