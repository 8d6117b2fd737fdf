"""
The files of an author's working tree, as a clone of it would have them.

Whatever line endings and filters made of the files here, a clone gets the bytes that
were committed; and none of what git ignores.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from ...classes import frozen
from ...plugins.dev.reading import read_files
from ...plugins.tree.files import shown
from ...plugins.tree.manifest import ENTRY_FILE, MANIFEST_FILE
from ...plugins.tree.tree import SIGNATURE_FILE, Tree
from ...protocol.limits import TREE_BYTES
from ..terminal import CommandError
from .keyfiles import SigningKey

LINK: Final = "120000"
SUBMODULE: Final = "160000"
GIT_FOLDER: Final = ".git"
PACKAGES_FOLDER: Final = "node_modules"
_NAMED_FILES: Final = 3


@frozen
class Tracked:
    """
    A file that git knows.

    :ivar mode: As git writes it.
    :ivar blob: The name of its content.
    """

    mode: str
    blob: str


def is_work_tree(root: Path) -> bool:
    """Whether a directory is the top of a git work tree."""
    return os.path.lexists(root / GIT_FOLDER)


def published_tree(
    root: Path, ignored: Collection[str] = frozenset({GIT_FOLDER})
) -> Tree:
    """
    Read what a clone would get if everything here were committed now.

    :param ignored: See ``published``.
    :raise CommandError: The tree cannot be read.
    :raise BridgeError: What a clone would be refused for.
    """
    try:
        files = read_files(root, published(root, ignored))
    except OSError as e:
        raise CommandError(f"the tree cannot be read: {e.strerror}") from None
    return Tree(files | _committed(root, files) if is_work_tree(root) else files)


def _committed(root: Path, names: Collection[str]) -> dict[str, bytes]:
    """Return the committed bytes of what is committed as it is here."""
    edited = {path.decode("utf-8", "surrogateescape") for path in changed(root)}
    unchanged = {
        name: file.blob
        for name, file in tracked(root).items()
        if name in names and name not in edited and file.mode not in (LINK, SUBMODULE)
    }
    return blobs(root, unchanged)


def published(
    root: Path, ignored: Collection[str] = frozenset({GIT_FOLDER})
) -> list[str]:
    """
    List the files here that a clone would have, sorted, with ``/``.

    :param ignored: Directories to leave out where git does not decide what to.
    :raise CommandError: The directory cannot be read, or git is missing.
    """
    if not root.is_dir():
        raise CommandError(f"there is no directory {root}")
    if not is_work_tree(root):
        return sorted(_walk(root, ignored))
    output = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = {name.decode("utf-8", "surrogateescape") for name in output.split(b"\0")}
    return sorted(name for name in names if name and os.path.lexists(root / name))


def _walk(root: Path, ignored: Collection[str]) -> list[str]:
    found = []

    def refuse(error: OSError) -> None:
        raise CommandError(f"the directory cannot be read: {error.strerror}")

    for folder, folders, files in os.walk(root, onerror=refuse):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [name for name in folders if name not in (*ignored, *links)]
        here = Path(folder).relative_to(root)
        found += [(here / name).as_posix() for name in (*files, *links)]
    return found


def tracked(root: Path) -> dict[str, Tracked]:
    """Return the files that git knows, by path."""
    names = {}
    for entry in git(root, "ls-files", "--stage", "-z").split(b"\0")[:-1]:
        about, _, path = entry.partition(b"\t")
        mode, blob, _ = about.decode().split(" ")
        names[path.decode("utf-8", "surrogateescape")] = Tracked(mode, blob)
    return names


@frozen
class Head:
    """
    Where a work tree is.

    :ivar commit: Empty before the first one.
    :ivar branch: Empty when no branch is checked out.
    """

    commit: str
    branch: str


def head(root: Path) -> Head:
    """Return the commit and the branch that are checked out."""
    lines = git(root, "status", "--porcelain=v2", "--branch", "-uno", "-z")
    about = dict(
        line.decode("utf-8", "surrogateescape").removeprefix("# branch.").split(" ", 1)
        for line in lines.split(b"\0")
        if line.startswith(b"# branch.")
    )
    commit, branch = about["oid"], about["head"]
    return Head(
        "" if commit == "(initial)" else commit,
        "" if branch == "(detached)" else branch,
    )


def changed(root: Path) -> list[bytes]:
    """Return the paths of files that differ from the commit."""
    status = git(
        root, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"
    )
    # Each entry is two letters, a space, and the path.
    return [entry[3:] for entry in status.split(b"\0")[:-1]]


def blobs(root: Path, names: Mapping[str, str]) -> dict[str, bytes]:
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
    if sum(sizes) > TREE_BYTES:
        raise CommandError(f"the committed files are larger than {TREE_BYTES} bytes")
    content = git(root, "cat-file", "--batch", given=asked)
    files = {}
    at = 0
    for path, size in zip(names, sizes, strict=True):
        at = content.index(b"\n", at) + 1
        files[path] = content[at : at + size]
        at += size + 1
    return files


def git(root: Path, *arguments: str, given: bytes = b"") -> bytes:
    """
    Ask git about a work tree; nothing that its configuration names is run.

    :raise CommandError: git is missing, or refused.
    """
    root = root.resolve()
    own = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environ = own | {
        "GIT_CEILING_DIRECTORIES": str(root.parent),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
    }
    command = ["git", "-C", str(root), "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - no shell; the only word not ours is -C's
            command, input=given, capture_output=True, env=environ, check=False
        )
    except FileNotFoundError:
        raise CommandError("git is needed to read a git work tree") from None
    if done.returncode:
        error = done.stderr.partition(b"\n")[0]
        raise CommandError(f"git {arguments[0]} failed: {named(error)}")
    return done.stdout


def named(text: bytes) -> str:
    """Return git's error output as a message may repeat it."""
    return shown(text.decode("utf-8", "replace"))


def check_key_outside(key: SigningKey, root: Path, files: Collection[str]) -> None:
    """
    Check that the key would not be published with the plugin.

    :param files: The paths of what is signed.
    :raise CommandError: It would be.
    """
    if key.file is None or not key.file.resolve().is_relative_to(root.resolve()):
        return
    inside = key.file.resolve().relative_to(root.resolve()).as_posix()
    if inside in files:
        raise CommandError(
            "the key file is one of the plugin's files; anyone who has it can sign as "
            "you, so keep it elsewhere"
        )


def tracked_files(root: Path) -> dict[str, bytes]:
    """
    Read the files that git tracks, as it will commit them, without the signature.

    :raise CommandError: One that a plugin needs is missing, or one cannot be in a
        plugin.
    """
    names = {}
    for name, file in tracked(root).items():
        if file.mode in (LINK, SUBMODULE):
            kind = "symbolic link" if file.mode == LINK else "submodule"
            raise CommandError(f"{shown(name)} is a {kind}; no plugin may have one")
        names[name] = file.blob
    names.pop(SIGNATURE_FILE, None)
    for needed in (MANIFEST_FILE, ENTRY_FILE):
        if needed not in names:
            raise CommandError(f"{needed} is not committed")
    return blobs(root, names)


def check_clean(root: Path, besides: Collection[str]) -> None:
    """
    Check that a clone would get what is here.

    :param besides: Files that may differ.
    :raise CommandError: Something is not committed.
    """
    allowed = {name.encode() for name in besides}
    edited = [path for path in changed(root) if path not in allowed]
    if edited:
        names = ", ".join(map(named, edited[:_NAMED_FILES]))
        more = len(edited) - _NAMED_FILES
        if more > 0:
            names += f" and {more} more"
        raise CommandError(f"not committed: {names}; a clone would not get this tree")
