"""Whose a file is, and what others may do with it."""

from __future__ import annotations

import functools
import os


def has_owners() -> bool:
    """
    Whether files have a numeric owner and a mode.

    Windows protects a profile's files by inherited access lists, which nothing reads.
    """
    return os.name != "nt"


def is_own(found: os.stat_result, *others: int) -> bool:
    """
    Whether this user owns a file; on Windows always.

    :param others: Numbers of users whose files count as own as well.
    """
    if not has_owners():
        return True
    return owner(found) in (os.geteuid(), *others)


def owner(found: os.stat_result) -> int:
    """Return the number of the user who owns a file."""
    return found.st_uid


def is_user(number: int | None) -> bool:
    """
    Whether this is the number of this user.

    :param number: ``None`` when the system reports none: it counts as this user's.
    """
    if not has_owners():
        return True
    return number is None or number == os.geteuid()


@functools.cache
def is_group_of_one(gid: int, uid: int) -> bool:
    """
    Whether a group is the one that systems make for each user, with no members.

    :param uid: That user.
    """
    if not has_owners():
        return True
    # Loaded late: few files can be written by a group.
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(uid), grp.getgrgid(gid)
    except KeyError:
        return False
    members = set(group.gr_mem) - {user.pw_name}
    return group.gr_name == user.pw_name and user.pw_gid == gid and not members
