"""Which files of a work tree are signed, and when they can be."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

from ...plugins.tree.files import shown
from ...plugins.tree.manifest import ENTRY_FILE, MANIFEST_FILE
from ...plugins.tree.tree import SIGNATURE_FILE
from ..terminal import CommandError
from .keyfiles import SigningKey
from .worktree import LINK, SUBMODULE, blobs, changed, named, tracked

_NAMED_FILES: Final = 3


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
