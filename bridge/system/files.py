"""Flags for opening files, and how files and directories become durable."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from concurrent.futures import Future

NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
"""Refuses a symbolic link at the end of a path; nothing on Windows."""
NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0)
"""Or opening a named pipe would wait for ever; nothing on Windows, which has none."""
NO_INHERIT: Final = getattr(os, "O_CLOEXEC", 0)
"""Closed in what this process starts; on Windows it is anyway."""
BINARY: Final = getattr(os, "O_BINARY", 0)
"""Leaves the ends of lines alone; only Windows changes them."""

_SYNCED_AT_ONCE: Final = 8

RENAMES_OPEN_FILES: Final = sys.platform != "win32"
"""Whether a file that is open can be renamed."""


def sync_directory(path: Path) -> None:
    """
    Make what was created or renamed in ``path`` survive a power loss.

    Does nothing on Windows, where directories cannot be opened, nor need it.
    """
    if os.name == "nt":
        return
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_files(paths: Sequence[Path | str]) -> None:
    """
    Make what was written to files survive a power loss.

    Synced several at once they take a fraction of the time: the disk, and the journal
    of the file system, write them together.

    :param paths: Regular files of nobody else's; a link is refused.
    :raise OSError: One could not be synced; others may have been.
    """
    if len(paths) <= 1:
        for path in paths:
            sync_file(path)
        return
    with meanwhile(min(len(paths), _SYNCED_AT_ONCE)) as begin:
        for path in paths:
            begin(sync_file, path)


def sync_file(path: Path | str) -> None:
    """Make what was written to one file survive a power loss; see ``sync_files``."""
    fd = os.open(path, os.O_RDWR | BINARY | NO_LINK)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def meanwhile(threads: int = 1) -> Iterator[Callable[..., Any]]:
    """
    Work with files in other threads, while something else is done.

    The body gets a function that accepts a function and its arguments, and returns at
    once.  When the body ends, all calls are done; when it fails, those that have not
    begun are left.

    :param threads: How many calls go on at once; by default, one after the other.
    """
    from concurrent.futures import ThreadPoolExecutor  # with logging; not at a start

    pool = ThreadPoolExecutor(threads, "files")
    calls: list[Future[Any]] = []
    try:
        yield lambda work, *arguments: calls.append(pool.submit(work, *arguments))
        for each in calls:
            each.result()
    finally:
        pool.shutdown(cancel_futures=True)


def make_private(fd: int) -> None:
    """
    Let only its owner read and write an open file.

    Does nothing on Windows, where a profile's files inherit who may read them.
    """
    if os.name == "nt":
        return
    os.fchmod(fd, 0o600)
