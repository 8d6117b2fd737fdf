"""
The files of an author's working tree, as a clone of it would have them, and the key.

Whatever line endings and filters made of the files here, a clone gets the bytes that
were committed; and none of what git ignores.  The key that signs them is in a file
elsewhere, or in a variable.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

import platformdirs

from ...classes import frozen
from ...datadir.paths import write_atomically
from ...plugins.clone.files import read_files
from ...plugins.tree.manifest import Manifest
from ...plugins.tree.tree import (
    GIT_FOLDER,
    SIGNATURE_FILE,
    SignatureFile,
    Tree,
    key_id,
    public_key_of,
    read_signature,
    sign_tree,
)
from ...protocol.errors import BridgeError
from ...protocol.limits import SIGNATURE_BYTES, TREE_BYTES, TREE_DEPTH
from ...protocol.text import iso_time, shown
from ...settings.host import HostProfile, Paths
from ..command import path_option
from ..terminal import CommandError, first_of, reported
from .programs import git

_EDITED: Final = ("C", "M")
"""
The letters of git for what was changed or removed, or is unmerged.

They are small where git was told not to look.
"""
OBJECT_FORMAT: Final = "--object-format=sha1"
"""The option of ``git init`` for what the daemon clones; git 3 has another default."""
HOST_LINK: Final = ".host"
"""The link by which editors and tests find the host's sources; ``new`` makes it."""
PACKAGES_FOLDER: Final = "node_modules"
_NAMED_FILES: Final = 3
# Else git would look into them, by their own configuration.
_SUBMODULES: Final = "--ignore-submodules=dirty"


def is_work_tree(root: Path) -> bool:
    """Whether a directory is the top of a git work tree."""
    return os.path.lexists(root / GIT_FOLDER)


def folder_note(root: Path) -> str:
    """Return what is wrong with a place inside another work tree; empty if nothing."""
    above = (p for p in root.resolve().parents if os.path.lexists(p / GIT_FOLDER))
    top = None if is_work_tree(root) else next(above, None)
    if top is None:
        return ""
    return (
        f"it is a folder of the git work tree {top}; only a repository that has "
        "plugin.json at its top can be installed"
    )


def check_host(root: Path, place: Paths) -> None:
    """
    Check by its link that a plugin is for this host: a signature is for one.

    :raise CommandError: It is for another shipped one.
    """
    link = root / HOST_LINK
    sources = link.readlink() if link.is_symlink() else None
    for name, data in place.others():
        if sources == data.host:
            raise CommandError(
                f"{HOST_LINK} leads to the sources of another host; "
                f"add --host {name}, or link {place.data.host}"
            )


def check_format(root: Path) -> None:
    """
    Check that the daemon can clone the repository, if it is one.

    :raise CommandError: Its commits have other names than those of SHA-1.
    """
    if not is_work_tree(root):
        return
    if git(root, "rev-parse", "--show-object-format").strip() != b"sha1":
        raise CommandError(
            "the repository's object format is not SHA-1, so nobody can install from "
            f"it; make a new one: git init {OBJECT_FORMAT}"
        )


def published_tree(
    root: Path, ignored: Collection[str] = frozenset({GIT_FOLDER})
) -> Tree:
    """
    Read what a clone would get if everything here were committed now.

    Of files that git has as they are here, these are the bytes that git has.

    :param ignored: See ``published``.
    :raise CommandError: The tree cannot be read, or git has more of it than is here.
    :raise BridgeError: What a clone would be refused for.
    """
    if sys.getfilesystemencoding() != "utf-8":
        raise CommandError("the tree cannot be read: set LC_ALL to a locale of UTF-8")
    with reported("the tree cannot be read"):
        files = read_files(root, published(root, ignored))
    return Tree(files | _added(root, files) if is_work_tree(root) else files)


def _added(root: Path, names: Collection[str]) -> dict[str, bytes]:
    """
    Return the bytes that git has of what was not changed since it was added.

    To know that it may have to read the files, which should be within the limits.
    """
    kinds = ("--cached", "--modified")
    listed = _entries(git(root, "ls-files", "-z", "-v", "--stage", *kinds))
    # The line of what git has comes before those that say how it was edited.
    blobs = {path: "" if words[0] in _EDITED else words[2] for path, words in listed}
    unchanged = {path: blob for path, blob in blobs.items() if blob}
    for path in unchanged:
        if path not in names:  # as in a sparse checkout
            raise CommandError(f"{shown(path)} is in a clone, but not here; restore it")
    return _blobs(root, unchanged)


def _entries(listed: bytes) -> Iterator[tuple[str, list[str]]]:
    """Return the path of each entry of a list of git's, and the words before it."""
    for entry in listed.split(b"\0")[:-1]:
        about, _, path = entry.partition(b"\t")
        yield path.decode("utf-8", "surrogateescape"), about.decode().split(" ")


def published(
    root: Path, ignored: Collection[str] = frozenset({GIT_FOLDER})
) -> list[str]:
    """
    List the files here that a clone would have, sorted, with ``/``.

    :param ignored: Directories to leave out where git does not decide what to.
    :raise CommandError: The directory cannot be read, or git is missing, or another
        repository is in it.
    """
    if not is_work_tree(root):
        return sorted(_walk(root, ignored))
    output = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = {name.decode("utf-8", "surrogateescape") for name in output.split(b"\0")}
    found = sorted(name for name in names if name and os.path.lexists(root / name))
    for name in found:
        if name.endswith("/"):
            why = "is a git repository of its own; remove it, or have git ignore it"
            raise CommandError(f"{shown(name)} {why}")
    return found


def _walk(root: Path, ignored: Collection[str]) -> list[str]:
    found = []

    def refuse(error: OSError) -> None:
        raise CommandError(f"the directory cannot be read: {error.strerror}")

    for folder, folders, files in os.walk(root, onerror=refuse):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [name for name in folders if name not in (*ignored, *links)]
        here = Path(folder).relative_to(root)
        if len(here.parts) > TREE_DEPTH:  # before Python's stack ends
            raise CommandError(f"it is more than {TREE_DEPTH} directories deep")
        if folder == str(root) and HOST_LINK in links:
            links.remove(HOST_LINK)
        found += [(here / name).as_posix() for name in (*files, *links)]
    return found


def head(root: Path) -> tuple[str, str]:
    """
    Return the commit and the branch that are checked out.

    :return: Empty before the first commit, and when no branch is checked out.
    """
    options = ("--porcelain=v2", "--branch", "-uno", _SUBMODULES)
    lines = git(root, "status", *options).split(b"\n")
    found = (line.decode("utf-8", "surrogateescape") for line in lines)
    about = dict(line[2:].split(" ", 1) for line in found if line.startswith("# "))
    commit, branch = about["branch.oid"], about["branch.head"]
    return (
        "" if commit == "(initial)" else commit,
        "" if branch == "(detached)" else branch,
    )


def _blobs(root: Path, names: Mapping[str, str]) -> dict[str, bytes]:
    """
    Read committed bytes.

    :param names: From a path to the name of its blob.
    :raise CommandError: Some are lost, or all of them are too large for a plugin.
    """
    asked = "".join(f"{blob}\n" for blob in names.values()).encode()
    output = git(root, "cat-file", "--batch-check", given=asked).splitlines()
    if any(b" blob " not in line for line in output):
        raise CommandError("git cannot read the content of a committed file")
    sizes = [int(line.split(b" ")[2]) for line in output]
    # One may be the signature, which a tree does not count.
    if sum(sizes) > TREE_BYTES + SIGNATURE_BYTES:
        raise CommandError(f"the committed files are larger than {TREE_BYTES} bytes")
    content = git(root, "cat-file", "--batch", given=asked)
    files = {}
    at = 0
    for path, size in zip(names, sizes, strict=True):
        at = content.index(b"\n", at) + 1
        files[path] = content[at : at + size]
        at += size + 1
    return files


KEY_VARIABLE: Final = "BRIDGE_SIGNING_KEY"
key_option = path_option(
    "--key",
    "-k",
    metavar="FILE",
    help=f"The key file.  [default: (the 64 digits in {KEY_VARIABLE}, or else the file "
    "that keygen creates)]",
)

SEED_BYTES: Final = 32
_KEY_FILE_BYTES: Final = 4096
_SEED = re.compile(r"[0-9A-Fa-f]{64}")


def default_key_file() -> Path:
    """Return the default path of a signing key, outside every plugin's tree."""
    return platformdirs.user_config_path("plugin-bridge") / "signing-key"


@frozen
class SigningKey:
    """A signing key, and the file it was read from, if any."""

    seed: bytes
    file: Path | None = None

    @property
    def fingerprint(self) -> str:
        """What users compare."""
        return key_id(public_key_of(self.seed))

    def check_outside(self, root: Path, files: Collection[str]) -> None:
        """
        Check that the key would not be published with the plugin.

        :param files: The paths of what is signed.
        :raise CommandError: It would be.
        """
        if self.file is None or not self.file.resolve().is_relative_to(root.resolve()):
            return
        inside = self.file.resolve().relative_to(root.resolve()).as_posix()
        if inside in files:
            raise CommandError(
                "the key file is one of the plugin's files; anyone who has it can sign "
                "as you, so keep it elsewhere"
            )

    def check_clock(self, root: Path) -> None:
        """
        Check that the clock is not behind the last signature that was committed.

        Who has what that one is for would refuse what is signed now.

        :raise CommandError: It is, and the key is the same.
        """
        last = last_signature(root) if is_work_tree(root) else None
        now = int(time.time())
        if last is None or key_id(last.public_key) != self.fingerprint:
            return
        if now < last.signed_at:
            clock, other = (iso_time(at * 1000) for at in (now, last.signed_at))
            raise CommandError(
                f"this computer's clock says {clock}, but the last signed commit was "
                f"signed at {other}, so no user could update; set the clock, or if it "
                f"was wrong then, commit the removal of {SIGNATURE_FILE}"
            )

    def sign(self, root: Path, tree: Tree, of: Manifest, profile: HostProfile) -> None:
        """
        Sign a tree, and write its signature.

        :param root: The author's directory.
        :raise BridgeError: The tree cannot be signed.
        :raise OSError: The signature cannot be written.
        """
        text = sign_tree(tree, of.id, profile, self.seed, int(time.time()))
        write_atomically(root / SIGNATURE_FILE, text, 0o644)


def chosen_key(chosen: Path | None) -> SigningKey:
    """
    Read the key that ``key_option`` describes.

    :param chosen: What ``--key`` names.
    :raise CommandError: It cannot be read, or is no key.
    """
    text = "" if chosen else os.environ.get(KEY_VARIABLE, "")
    file = None if text else chosen or default_key_file()
    text = (_read(file) if file else text).strip()
    if _SEED.fullmatch(text) is None:
        where = file or KEY_VARIABLE
        raise CommandError(f"{where} does not hold 64 hexadecimal digits")
    return SigningKey(bytes.fromhex(text), file)


def _read(path: Path) -> str:
    with reported(f"{path} cannot be read"):
        try:
            with path.open("rb") as file:
                return file.read(_KEY_FILE_BYTES).decode("ascii", "replace")
        except FileNotFoundError:
            create = "plugin-bridge keygen"
            if path != default_key_file():
                create += f" --out {shlex.quote(str(path))}"
            why = f"there is no key file {path}; to create one, run: {create}"
            raise CommandError(why) from None


def check_clean(root: Path, besides: Collection[str]) -> None:
    """
    Check that a clone would get what is here.

    :param besides: Files that may differ.
    :raise CommandError: Something is not committed.
    """
    options = ("--no-renames", "--untracked-files=all", _SUBMODULES)
    status = git(root, "status", "--porcelain", "-z", *options).split(b"\0")[:-1]
    # What was only removed from the index is there twice.
    paths = dict.fromkeys(entry[3:].decode("utf-8", "replace") for entry in status)
    edited = [shown(path) for path in paths if path not in besides]
    if edited:
        names = ", ".join(first_of(edited, _NAMED_FILES))
        raise CommandError(f"not committed: {names}; a clone would not get this tree")


SHOWN_FILES: Final = 20

SHORT: Final = 12
"""To how many digits the name of a commit is shortened."""


@frozen
class Difference:
    """
    A file that is not as it was signed.

    :ivar change: ``added``, ``changed`` or ``removed``.
    """

    file: str
    change: str


def difference_lines(commit: str, differences: list[Difference]) -> list[str]:
    """Return what the author reads of what ``since_signed`` has found."""
    if not differences:
        return [f"no file differs from {commit}, the last signed commit"]
    since = f"since {commit}, the last signed commit"
    lines = [f"{one.file}: {one.change} {since}" for one in differences]
    return first_of(lines, SHOWN_FILES)


def last_signed(root: Path, start: str = "HEAD") -> str | None:
    """
    Find the last commit that changed the signature, and still has one.

    :param root: The top of a git work tree.
    :param start: The commit to begin at.
    :return: ``None`` without one, and in a clone without its history.
    :raise CommandError: git is missing, or refuses.
    """
    if not head(root)[0]:
        return None
    if git(root, "rev-parse", "--is-shallow-repository").strip() == b"true":
        return None
    found = git(root, "rev-list", "--max-count=1", start, "--", SIGNATURE_FILE)
    commit = found.strip().decode("ascii")
    if not commit or not git(root, "ls-tree", commit, "--", SIGNATURE_FILE):
        return None
    return commit


def last_signature(root: Path, start: str = "HEAD") -> SignatureFile | None:
    """
    Read the signature in the commit that ``last_signed`` finds; it is not verified.

    :return: ``None`` without a usable one.
    :raise CommandError: See ``last_signed``.
    """
    if (commit := last_signed(root, start)) is None:
        return None
    try:
        return read_signature(
            git(root, "cat-file", "blob", f"{commit}:{SIGNATURE_FILE}")
        )
    except BridgeError:
        return None


def since_signed(
    root: Path, files: Mapping[str, bytes]
) -> tuple[str, list[Difference]] | None:
    """
    Compare files with those of the last commit that changed the signature.

    :param files: What a clone would get if everything here were committed now.
    :return: Its name, shortened, and what differs, by path; ``None`` when there is
        none, or ``root`` is no git work tree.
    :raise CommandError: git is missing, or refuses.
    """
    commit = last_signed(root) if is_work_tree(root) else None
    if commit is None:
        return None
    # Not by git diff: it writes the index.
    listed = _entries(git(root, "ls-tree", "-r", "-z", commit))
    signed = {path: blob for path, (_, _, blob) in listed}
    changes = {path: "removed" for path in signed if path not in files}
    for path, content in files.items():
        blob = hashlib.sha1(b"blob %d\0" % len(content), usedforsecurity=False)
        blob.update(content)
        if signed.get(path) != blob.hexdigest():
            changes[path] = "changed" if path in signed else "added"
    found = [Difference(shown(path), how) for path, how in sorted(changes.items())]
    return commit[:SHORT], found
