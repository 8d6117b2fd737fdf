"""
The files that a tree may have: those of a commit, or an author's own.

A commit's are validated as a whole in memory: regular files only, as the bytes they
are, without filters, line endings or executable bits.

A name means the same on every system a plugin may be unpacked on.  It is validated as
written and as file systems fold it: case ignored, compatible characters made one.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import field

from ...classes import define, frozen
from ...protocol import limits
from ...protocol.errors import BridgeError, Prefix, clone_failed
from ...protocol.text import shown
from ...protocol.wire import WINDOWS_DEVICES
from ...system.files import NotRegularError, TooLargeError, read_bounded
from ..tree.tree import SIGNATURE_FILE, Tree, refused
from .pack import BLOB, COMMIT, TREE, Unpacked

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
    :ivar bytes_left: How many bytes further files may have, but for the signature.
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
        """Add a file; the signature counts for neither limit, having its own."""
        self.files[path] = content
        if path == SIGNATURE_FILE:
            return
        self.bytes_left -= len(content)
        if self.bytes_left < 0:
            raise self.too_many_bytes()
        if len(self.files) - (SIGNATURE_FILE in self.files) > limits.TREE_FILES:
            raise clone_failed(f"more than {limits.TREE_FILES} files")

    def too_many_bytes(self) -> BridgeError:
        """Return the error for files that exceed ``bytes_left`` together."""
        return clone_failed(f"files of more than {limits.TREE_BYTES} bytes")


def read_files(root: Path, names: Iterable[str]) -> dict[str, bytes]:
    """
    Read files of a directory that somebody may be editing; no link is followed.

    :param names: Relative paths with ``/``; a file that has disappeared is left out.
    :return: The contents, by path.
    :raise BridgeError: What a clone would be refused for, naming the file.
    :raise OSError: One can't be read.
    """
    bounded = BoundedFiles()
    entered: set[str] = set()
    for name in names:
        try:
            _enter(root, name, bounded, entered)
            with suppress(FileNotFoundError, NotADirectoryError):
                bounded.add(name, _read(root, name, bounded))
        except BridgeError as e:
            if not e.message.startswith(Prefix.CLONE_FAILED):
                raise
            raise BridgeError(e.code, f"{e.message} ({shown(name)})") from None
    return bounded.files


def _enter(root: Path, name: str, bounded: BoundedFiles, entered: set[str]) -> None:
    """Check the names of a file and of the directories it is in."""
    folder = ""
    for part in name.split("/"):
        path = folder + part
        if path not in entered:
            bounded.enter(folder, os.fsencode(part))
            entered.add(path)
        if folder and (root / folder).is_symlink():
            raise refused(folder[:-1], "symlink")
        folder = f"{path}/"


def _read(root: Path, name: str, bounded: BoundedFiles) -> bytes:
    source = root / name
    mode = source.lstat().st_mode
    if stat.S_ISLNK(mode):
        raise refused(name, "symlink")
    if stat.S_ISDIR(mode):
        raise refused(name, "submodule")
    try:
        # Of what is not the signature there may be less.
        return read_bounded(source, bounded.bytes_left + limits.SIGNATURE_BYTES)
    except NotRegularError:
        raise clone_failed("neither a file nor a directory") from None
    except TooLargeError:
        raise bounded.too_many_bytes() from None
    except PermissionError:
        raise clone_failed("it cannot be read") from None


_TREE_LINE: Final = re.compile(rb"tree ([0-9a-f]{40})\n")
_PARENT_LINE: Final = re.compile(rb"parent [0-9a-f]{40}\n")
_MODE: Final = re.compile(rb"[0-7]{5,7}")
_HASH_BYTES: Final = 20
_GITLINK: Final = 0o160000


@frozen
class Snapshot:
    """
    The files that a commit names.

    :ivar names: The object that each is, 20 bytes, by its path.
    :ivar shallow: Whether the commit has parents, which were not fetched.
    """

    tree: Tree
    names: dict[str, bytes]
    shallow: bool


def read_snapshot(
    commit: str, unpacked: Unpacked, check: Callable[[], None]
) -> Snapshot:
    """
    List the files of a commit.

    :param check: Called for every directory; may raise to end it.
    :raise BridgeError: ``policy: …`` for a symlink or a submodule, ``clone_failed: …``
        for an unsafe or colliding name, a limit, or an object that is missing.
    """
    content = _content(unpacked, bytes.fromhex(commit), COMMIT)
    tree = _TREE_LINE.match(content)
    if tree is None:
        raise clone_failed("a commit that git would not make")
    shallow = _PARENT_LINE.match(content, tree.end()) is not None
    bounded = BoundedFiles()
    names = {}
    directories = [(bytes.fromhex(tree[1].decode("ascii")), "")]
    while directories:
        check()
        name, folder = directories.pop()
        for mode, part, target in _entries(_content(unpacked, name, TREE)):
            path = bounded.enter(folder, part)
            if stat.S_ISDIR(mode):
                directories.append((target, f"{path}/"))
                continue
            _check_mode(mode, path)
            bounded.add(path, _content(unpacked, target, BLOB))
            names[path] = target
    return Snapshot(Tree(bounded.files), names, shallow)


def _check_mode(mode: int, path: str) -> None:
    if stat.S_ISLNK(mode):
        raise refused(path, "symlink")
    if stat.S_IFMT(mode) == _GITLINK:
        raise refused(path, "submodule")
    if not stat.S_ISREG(mode):
        raise clone_failed("an entry that is neither a file nor a directory")


def _entries(tree: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    at = 0
    while at < len(tree):
        space = tree.find(b" ", at)
        end = tree.find(b"\0", space)
        target = tree[end + 1 : end + 1 + _HASH_BYTES]
        mode = tree[at:space]
        if (
            space < 0
            or end < 0
            or len(target) < _HASH_BYTES
            or not _MODE.fullmatch(mode)
        ):
            raise clone_failed("a directory that git would not make")
        yield int(mode, 8), tree[space + 1 : end], target
        at = end + 1 + _HASH_BYTES


def _content(unpacked: Unpacked, name: bytes, kind: str) -> bytes:
    found = unpacked.objects.get(name)
    if found is None or found.kind != kind:
        raise clone_failed("an object is missing from the pack")
    return found.content
