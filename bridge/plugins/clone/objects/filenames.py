"""
File names that mean the same on every system a plugin may be unpacked on.

A name is validated as written and as file systems fold it: case ignored, compatible
characters made one.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from ....protocol.errors import BridgeError
from ....protocol.rules import WINDOWS_DEVICES
from ..transfer import clone_failed

_NAME_BYTES: Final = 255
_SEPARATORS: Final = frozenset('/\\:<>"|?*')

# Control, format (what HFS+ ignores, what turns text around), surrogates, private
# use, unassigned; and the two separators of lines.
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

_SHORT_NAME: Final = re.compile(r"[^.]{0,7}~[0-9]{1,7}(\.[^.]{0,3})?")


def check_name(name: bytes) -> tuple[str, str]:
    """
    Check the name of a file or a directory.

    :return: The name, and its folded form; two names in one directory must not fold
        to the same.
    :raise BridgeError: ``clone_failed: …``, naming the rule that is broken.
    """
    if not 0 < len(name) <= _NAME_BYTES:
        raise _unsafe("empty or too long")
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        raise _unsafe("not UTF-8") from None
    folded = _fold(text)
    rule = _broken_rule(text) or _broken_rule(folded) or _reserved(folded)
    if rule is not None:
        raise _unsafe(rule)
    return text, folded


def names_collide() -> BridgeError:
    """Return the error for two names that fold to the same."""
    return clone_failed("two file names differ only in case or in form")


def _fold(text: str) -> str:
    once = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", once)


def _broken_rule(text: str) -> str | None:
    if any(unicodedata.category(character) in _INVISIBLE for character in text):
        return "control or invisible characters"
    if not _SEPARATORS.isdisjoint(text):
        return "a separator or a wildcard"
    if text.startswith(" ") or text.endswith((" ", ".")):
        return "starts with a space, or ends with a space or a dot"
    return None


def _reserved(folded: str) -> str | None:
    if folded == ".git":
        return "git's own directory"
    if _SHORT_NAME.fullmatch(folded):
        return "a short name of Windows"
    if folded.split(".")[0].rstrip(" ") in WINDOWS_DEVICES:
        return "a device of Windows"
    return None


def _unsafe(rule: str) -> BridgeError:
    return clone_failed(f"an unsafe file name in the repository: {rule}")
