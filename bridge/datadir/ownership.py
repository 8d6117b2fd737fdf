"""
Which files the daemon uses: those that only its user, or root, can have written.

A data directory that was open for a while is closed at the next start, but what others
put there meanwhile stays.  So every reader of the directory checks what it opens; see
docs/decisions/0006.  On Windows nothing is checked: a profile's directories are closed
by inheritance there.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from shlex import quote

from ..system.files import has_owners, is_group_of_one, is_own

_ROOT = 0


class NotOwnError(OSError):
    """
    Another user may have written a file.

    :ivar finding: Which file, and why it is not used.
    :ivar fix: What to do about it: a clause with a command.
    """

    def __init__(
        self,
        path: Path | str,
        why: str,
        command: str,
        otherwise: str = "remove it, or if you know what is in it",
    ) -> None:
        self.finding = f"{_printable(str(path))} {why}, so it is not used"
        self.fix = f"{otherwise} run: {command}"
        super().__init__(errno.EPERM, f"{self.finding}; {self.fix}")

    def __str__(self) -> str:
        return str(self.strerror)


def check(path: Path | str, top: Path | str | None = None) -> None:
    """
    Check that only the user and root can have written a file or a directory.

    What is not there passes, and what we can't look at: we can't read it either.  Of
    a symbolic link, its owner and its target count.

    :param top: The directory that the command is for, when it is not ``path`` itself.
    :raise NotOwnError: Another user owns it, or may write it.
    """
    if not has_owners():
        return
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            _check_owner(found, path, top)
            found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    _check_owner(found, path, top)
    if _may_be_written(found, path):
        where = quote(_printable(str(top or path)))
        raise NotOwnError(
            path, "can be written by other users", f"chmod -R go-w {where}"
        )


def check_tree(top: Path) -> None:
    """
    Check a directory and everything below it; see ``check``.

    Takes about 10 ms for a thousand files.  What cannot be listed is passed over: it
    cannot be read either.

    :raise NotOwnError: Naming the first that another user owns, or may write.
    """
    check(top)
    if not has_owners():
        return
    folders = [os.fspath(top)]
    # The list grows while it is walked: by the folders found in a folder.
    for folder in folders:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            # What has gone meanwhile passes.
            check(entry.path, top)
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)


def check_above(path: Path, option: str = "") -> None:
    """
    Check that no other user can put another directory in this one's place.

    They can where they may write a directory above it; not where that has the sticky
    bit, as ``/tmp`` has, nor where they can't enter one above it.  Whose the
    directories are is not looked at.

    :param option: The one that chooses another path; empty: none does.
    :raise NotOwnError: Naming the directory above that others can write.
    """
    if not has_owners():
        return
    # Unlike ``Path.resolve``, it raises nothing for links in a circle.
    for parent in reversed(Path(os.path.realpath(path)).parents):
        try:
            found = parent.stat()
        except FileNotFoundError:
            return
        if not found.st_mode & (stat.S_IXGRP | stat.S_IXOTH):
            return
        if _may_be_written(found, parent) and not found.st_mode & stat.S_ISVTX:
            raise NotOwnError(
                path,
                f"can be replaced by other users, who can write {parent}",
                f"chmod go-w {quote(_printable(str(parent)))}",
                f"choose another with {option}, or" if option else "first",
            )


def check_publishable(folder: Path) -> None:
    """
    Check that no other user can publish in the theme's folder, or in its place.

    :raise NotOwnError: Others can.
    """
    themes = folder.parent
    check_above(themes, "--theme-dir")
    check(themes)
    check(folder)


def _check_owner(
    found: os.stat_result, path: Path | str, top: Path | str | None
) -> None:
    if not is_own(found, _ROOT):
        where = quote(_printable(str(top or path)))
        raise NotOwnError(
            path, "belongs to another user", f'sudo chown -R "$USER" {where}'
        )


def _may_be_written(found: os.stat_result, path: Path | str) -> bool:
    """Whether the mode lets anybody but the owner write."""
    if found.st_mode & stat.S_IWGRP:
        # A group may be its owner alone, if no access list adds anybody.
        alone = is_group_of_one(found.st_gid, found.st_uid)
        if not alone or _has_access_list(path):
            return True
    return bool(found.st_mode & stat.S_IWOTH)


def _has_access_list(path: Path | str) -> bool:
    """Whether a POSIX access list has users or groups of its own; Linux shows these."""
    try:
        return "system.posix_acl_access" in os.listxattr(path)
    except (AttributeError, OSError):
        return False


def _printable(text: str) -> str:
    # The name of a planted file is the choice of who planted it.
    return "".join(c if c.isprintable() else "?" for c in text)
