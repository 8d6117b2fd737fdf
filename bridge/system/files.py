"""
Files: flags to open them, whose they are, how they become durable, and their removal;
and how those are read that somebody else made.

On Linux, a file in memory is one for a program to run from.  It has no name, so that
nobody opens it but by a descriptor of this process, which only its own user and root
can do, and once it is sealed nobody can change it.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import select
import stat
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from operator import call
from pathlib import Path
from typing import BinaryIO, Final

NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
"""Refuses a symbolic link at the end of a path; nothing on Windows."""
NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0)
"""Or opening a named pipe would wait for ever; nothing on Windows, which has none."""
_NO_INHERIT: Final = getattr(os, "O_CLOEXEC", 0)
"""Closed in what this process starts; on Windows it is anyway."""
_BINARY: Final = getattr(os, "O_BINARY", 0)
"""Leaves the ends of lines alone; only Windows changes them."""

_SYNCED_AT_ONCE: Final = 8

# A link (the second on FreeBSD); a socket, or a device that is not there.
_NOT_REGULAR: Final = frozenset({errno.ELOOP, errno.EMLINK, errno.ENXIO})

_READ: Final = os.O_RDONLY | NO_LINK | NO_WAIT | _NO_INHERIT | _BINARY
_PIECE_BYTES: Final = 1 << 20

RENAMES_OPEN_FILES: Final = sys.platform != "win32"
"""Whether a file that is open can be renamed."""


class NotRegularError(OSError):
    """What should be a file is a link, a directory, a pipe or a device."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "not a regular file")


class TooLargeError(OSError):
    """A file is larger than its limit."""


def open_regular(path: Path | str, buffering: int = -1) -> BinaryIO:
    """
    Open a file to read it, never through a symbolic link.

    :param buffering: See ``open``.
    :raise FileNotFoundError: There is none.
    :raise NotRegularError: It is not a regular file.
    :raise OSError: It cannot be read.
    """
    return os.fdopen(_opened(path)[0], "rb", buffering)


def _opened(path: Path | str) -> tuple[int, int]:
    """
    Open a file as ``open_regular`` does; return its descriptor and its size in bytes.

    A file object costs as much as reading a small file.
    """
    if not NO_LINK and os.path.islink(path):
        raise NotRegularError
    try:
        fd = os.open(path, _READ)
    except OSError as e:
        if e.errno in _NOT_REGULAR:
            raise NotRegularError from None
        raise
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        os.close(fd)
        raise NotRegularError
    return fd, found.st_size


def read_bounded(path: Path | str, most: int) -> bytes:
    """
    Read a whole regular file.

    :param most: Bytes.
    :raise TooLargeError: It is larger; no more than ``most`` bytes and one were read.
    :raise OSError: See ``open_regular``.
    """
    fd, size = _opened(path)
    try:
        # One byte more than there should be: it ends where it should.
        content = os.read(fd, min(size, most) + 1)
        while size != len(content) <= most and (
            more := os.read(fd, min(most + 1 - len(content), _PIECE_BYTES))
        ):
            content += more
    finally:
        os.close(fd)
    if len(content) > most:
        raise TooLargeError
    return content


def sync_directory(path: Path | str) -> None:
    """
    Make what was created or renamed in ``path`` survive a power loss.

    Does nothing on Windows, where directories cannot be opened, nor need it.
    """
    if os.name == "nt":
        return
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path | str, flags: int) -> None:
    fd = os.open(path, flags)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def create(path: Path, mode: int = 0o600) -> BinaryIO:
    """
    Create a file, and open it to write.

    :param mode: What of it the umask does not remove.
    :raise FileExistsError: There is something, perhaps a link.
    :raise OSError: It can't be made.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY | NO_LINK
    return os.fdopen(os.open(path, flags, mode), "wb")


def write_new(path: Path, pieces: Iterable[bytes], mode: int = 0o600) -> None:
    """
    Make a file whose content survives a power loss.

    What is there goes: an interrupted write has left it.

    :raise OSError: It could not be made; part of it may be there.
    """
    path.unlink(missing_ok=True)
    with create(path, mode) as file:
        file.writelines(pieces)
        file.flush()
        os.fsync(file.fileno())


def write_all(fd: int, content: bytes) -> None:
    """Write to a descriptor, which may take less at once, or nothing for a while."""
    rest = memoryview(content)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:  # a stream whose other users do not wait
            select.select([], [fd], [])


def sync_files(paths: Sequence[Path | str], folders: Iterable[str] = ()) -> None:
    """
    Make what was written to files survive a power loss.

    Synced several at once they take a fraction of the time: the disk, and the journal
    of the file system, write them together.

    :param paths: Regular files of nobody else's; a link is refused.
    :param folders: Directories, for the names in them; see ``sync_directory``.
    :raise OSError: One could not be synced; others may have been.
    """
    syncs = [partial(_sync_file, path) for path in paths]
    syncs += [partial(sync_directory, folder) for folder in folders]
    if len(syncs) > 1:
        # Loads logging, which a start does not need.
        from concurrent.futures import ThreadPoolExecutor

        with contextlib.suppress(RuntimeError):  # there can be no more threads
            with ThreadPoolExecutor(min(len(syncs), _SYNCED_AT_ONCE), "sync") as pool:
                list(pool.map(call, syncs))
            return
    for sync in syncs:
        sync()


def _sync_file(path: Path | str) -> None:
    _sync(path, os.O_RDWR | _BINARY | NO_LINK | _NO_INHERIT)


def remove(path: Path) -> None:
    """
    Remove a file, a link, or a directory with all that is in it, read-only files too.

    Nothing happens when there is none.

    :raise OSError: It could not be removed.
    """
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return  # a system that only reads would refuse to remove even that
    if not stat.S_ISDIR(found.st_mode):
        path.unlink(missing_ok=True)
        return
    import shutil  # with modules for compression; not at a start

    try:
        shutil.rmtree(path)
    except PermissionError:
        _make_writable(path)
        shutil.rmtree(path)


def _make_writable(root: Path) -> None:
    os.chmod(root, stat.S_IRWXU)
    for folder, folders, files in os.walk(root):
        # A folder needs it for what is in it; a file only on Windows.
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, stat.S_IRWXU)


def make_private(fd: int) -> None:
    """
    Let only its owner read and write an open file.

    Does nothing on Windows, where a profile's files inherit who may read them.
    """
    if os.name == "nt":
        return
    os.fchmod(fd, 0o600)


# Since Linux 6.3 a file in memory has to declare that it will run; older kernels refuse
# the flag.
_MFD_EXEC: Final = 0x10


def create_in_memory() -> int:
    """
    Create an empty file in memory.

    :return: A descriptor that writes it.
    :raise OSError: There can be none that runs.
    """
    if sys.platform != "linux":  # pragma: no cover
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        return os.memfd_create("bundler", flags | _MFD_EXEC)
    except OSError as e:
        if e.errno != errno.EINVAL:
            raise
        return os.memfd_create("bundler", flags)


def seal(fd: int) -> int:
    """
    Make a file in memory unchangeable.

    It is closed for writing, too: no system runs it before.

    :return: A descriptor that reads it.
    :raise OSError: It could not be done, and ``fd`` is still open.
    """
    if sys.platform != "linux":  # pragma: no cover
        return fd
    import fcntl

    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals | fcntl.F_SEAL_SEAL)
    reading = os.open(path_of(fd), os.O_RDONLY | os.O_CLOEXEC)
    os.close(fd)
    return reading


def path_of(fd: int) -> str:
    """Return where another process finds what a descriptor of this one has open."""
    return f"/proc/{os.getpid()}/fd/{fd}"


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
