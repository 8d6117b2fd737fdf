"""Which files differ from the last commit that signed the plugin, as git knows."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from attrs import field

from ...classes import frozen
from ...plugins.tree.files import shown
from ...plugins.tree.tree import SIGNATURE_FILE
from .worktree import git, head, is_work_tree

SHOWN_FILES: Final = 20

_CHANGES: Final = {b"A": "added", b"D": "removed"}
_COMMIT_CHARACTERS: Final = 12


@frozen
class Difference:
    """
    A file that is not as it was signed.

    :ivar change: ``added``, ``changed`` or ``removed``.
    """

    file: str
    change: str


@frozen
class SignedCommit:
    """
    The last commit that changed the signature.

    :ivar commit: Its name, shortened.
    :ivar differences: What a clone would get otherwise if everything here were
        committed now, by path.
    """

    commit: str
    differences: list[Difference] = field(factory=list)

    def lines(self) -> list[str]:
        """Return what the author reads."""
        if not self.differences:
            return [f"no file differs from {self.commit}, the last signed commit"]
        lines = [
            f"{one.file}: {one.change} since {self.commit}, the last signed commit"
            for one in self.differences[:SHOWN_FILES]
        ]
        more = len(self.differences) - SHOWN_FILES
        return [*lines, f"and {more} more"] if more > 0 else lines


def last_signed(root: Path) -> str | None:
    """
    Find the last commit that changed the signature, and still has one.

    :param root: The top of a git work tree.
    :return: ``None`` without one, and in a clone without its history.
    :raise CommandError: git is missing, or refuses.
    """
    if not head(root).commit:
        return None
    if git(root, "rev-parse", "--is-shallow-repository").strip() == b"true":
        return None
    found = git(root, "rev-list", "--max-count=1", "HEAD", "--", SIGNATURE_FILE)
    commit = found.strip().decode("ascii")
    if not commit or not git(root, "ls-tree", commit, "--", SIGNATURE_FILE):
        return None
    return commit


def since_signed(root: Path) -> SignedCommit | None:
    """
    Compare the files here with those of the last signed commit.

    :return: ``None`` when there is none, or ``root`` is no git work tree.
    :raise CommandError: git is missing, or refuses.
    """
    commit = last_signed(root) if is_work_tree(root) else None
    if commit is None:
        return None
    options = ("--name-status", "--no-renames", "--no-ext-diff", "-z")
    output = git(root, "diff", *options, commit, "--").split(b"\0")[:-1]
    changes = {
        path: _CHANGES.get(letter, "changed")
        for letter, path in zip(output[::2], output[1::2], strict=True)
    }
    untracked = git(root, "ls-files", "-z", "--others", "--exclude-standard")
    for path in untracked.split(b"\0")[:-1]:
        # One that was signed, and is not in the index now, is listed as removed.
        changes[path] = "changed" if path in changes else "added"
    return SignedCommit(
        commit[:_COMMIT_CHARACTERS],
        [
            Difference(shown(path.decode("utf-8", "replace")), change)
            for path, change in sorted(changes.items())
        ],
    )
