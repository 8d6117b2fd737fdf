"""
The names and sizes that a tree may have: a cloned one, or an author's own.

A name means the same on every
system a plugin may be unpacked on.  It is validated as written and as file systems fold
it: case ignored, compatible characters made one.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from typing import Final

from attrs import field

from ...classes import define
from ...protocol import limits
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.rules import WINDOWS_DEVICES


def clone_failed(detail: str) -> BridgeError:
    """Return the error of a failed clone: ``clone_failed: <detail>``."""
    return plugin_error(Prefix.CLONE_FAILED, detail)


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
    if not _INVISIBLE.isdisjoint(map(unicodedata.category, text)):
        return "control or invisible characters"
    if not _SEPARATORS.isdisjoint(text):
        return "a separator or a wildcard"
    if text.startswith(" ") or text.endswith((" ", ".")):
        return "starts with a space, or ends with a space or a dot"
    if not text.isascii() and sys.getfilesystemencoding() != "utf-8":
        return "not ASCII, which takes a locale with UTF-8"
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


@define
class TreeSize:
    """
    Counts the files of one tree, and refuses those beyond the limits.

    Every method raises ``BridgeError``, ``clone_failed: …``, naming the limit.
    """

    _files: int = field(default=0, init=False)
    _bytes: int = field(default=0, init=False)

    @property
    def bytes_left(self) -> int:
        """The number of bytes that further files may have."""
        return limits.TREE_BYTES - self._bytes

    def check_depth(self, directories: int) -> None:
        """Check the number of directories that an entry is in."""
        if directories > limits.TREE_DEPTH:
            raise clone_failed(f"more than {limits.TREE_DEPTH} directories deep")

    def check_path(self, path: bytes) -> None:
        """Check the length of a path."""
        if len(path) > limits.TREE_PATH_BYTES:
            raise clone_failed(f"a path of more than {limits.TREE_PATH_BYTES} bytes")

    def add_file(self) -> None:
        """Count one file."""
        self._files += 1
        if self._files > limits.TREE_FILES:
            raise clone_failed(f"more than {limits.TREE_FILES} files")

    def add_bytes(self, count: int) -> None:
        """Count the bytes of a file."""
        self._bytes += count
        if self._bytes > limits.TREE_BYTES:
            raise self.too_many_bytes()

    def too_many_bytes(self) -> BridgeError:
        """Return the error for files that exceed ``bytes_left`` together."""
        return clone_failed(f"files of more than {limits.TREE_BYTES} bytes")
