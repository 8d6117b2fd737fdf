"""Flags for opening files, and how files and directories become durable."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
"""Refuses a symbolic link at the end of a path; nothing on Windows."""
NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0)
"""Or opening a named pipe would wait for ever; nothing on Windows, which has none."""
NO_INHERIT: Final = getattr(os, "O_CLOEXEC", 0)
"""Closed in what this process starts; on Windows it is anyway."""
BINARY: Final = getattr(os, "O_BINARY", 0)
"""Leaves the ends of lines alone; only Windows changes them."""

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


def make_private(fd: int) -> None:
    """
    Let only its owner read and write an open file.

    Does nothing on Windows, where a profile's files inherit who may read them.
    """
    if os.name == "nt":
        return
    os.fchmod(fd, 0o600)
