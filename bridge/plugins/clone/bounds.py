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


def check_name(name: bytes) -> str:
    """
    Check the name of a file or a directory, and return it.

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
    return text


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
class BoundedFiles:
    """
    Collects the files of one tree, and refuses what is unsafe or beyond the limits.

    Every method raises ``BridgeError``, ``clone_failed: …``, naming the rule or limit.

    :ivar files: The content of each, by its path.
    :ivar bytes_left: How many bytes further files may have.
    """

    files: dict[str, bytes] = field(factory=dict, init=False)
    bytes_left: int = field(factory=lambda: limits.TREE_BYTES, init=False)
    _entries: set[str] = field(factory=set, init=False)

    def enter(self, folder: str, name: bytes) -> str:
        """
        Check the place of a file or a directory, once for each.

        :param folder: The path of the directory it is in, with a slash at its end;
            empty for the root.
        :return: Its path.
        """
        if folder.count("/") > limits.TREE_DEPTH:
            raise clone_failed(f"more than {limits.TREE_DEPTH} directories deep")
        path = folder + check_name(name)
        if len(path.encode()) > limits.TREE_PATH_BYTES:
            raise clone_failed(f"a path of more than {limits.TREE_PATH_BYTES} bytes")
        if (folded := _fold(path)) in self._entries:
            raise clone_failed("two file names differ only in case or in form")
        self._entries.add(folded)
        # Directories count too: a tree may name the same one over and over.
        if len(self._entries) > 2 * limits.TREE_FILES:
            raise clone_failed("too many files and directories")
        return path

    def add(self, path: str, content: bytes) -> None:
        """Add a file."""
        self.bytes_left -= len(content)
        if self.bytes_left < 0:
            raise self.too_many_bytes()
        self.files[path] = content
        if len(self.files) > limits.TREE_FILES:
            raise clone_failed(f"more than {limits.TREE_FILES} files")

    def too_many_bytes(self) -> BridgeError:
        """Return the error for files that exceed ``bytes_left`` together."""
        return clone_failed(f"files of more than {limits.TREE_BYTES} bytes")
