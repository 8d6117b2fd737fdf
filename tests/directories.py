"""Directories for tests to write in."""

import errno
import gc
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.system import files

_NOBODY = 65534
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108
"""Where no disk slows files down, if there is such a place."""


def fresh_directory(test: SynchronousTestCase) -> Path:
    """Make an empty directory, mode 0700, that is gone after the test."""
    path = Path(tempfile.mkdtemp(prefix="bridge-test-"))
    test.addCleanup(shutil.rmtree, path)
    return path


def write_files(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files below a directory, by their paths with ``/``; texts as UTF-8."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def read_files(root: Path) -> dict[str, bytes]:
    """Read every file below a directory, by its path with ``/``."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def planted(test: SynchronousTestCase, path: Path) -> None:
    """Make a file or a directory another user's: really, when root runs the tests."""
    if os.geteuid() == 0:
        os.chown(path, _NOBODY, -1, follow_symlinks=False)
        return
    found = path.lstat()
    owner = files.owner

    def another(status: os.stat_result) -> int:
        same = (status.st_dev, status.st_ino) == (found.st_dev, found.st_ino)
        return _NOBODY if same else owner(status)

    test.patch(files, "owner", another)


def closed_below(directory: Path) -> AbstractContextManager[object]:
    """Refuse looks at what is below a directory, to root, too, whom no mode stops."""
    really = os.stat

    def as_a_user(path: Any, **options: Any) -> os.stat_result:
        if str(path).startswith(f"{directory}/"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return really(path, **options)

    of_link = partial(as_a_user, follow_symlinks=False)
    return mock.patch.multiple(os, stat=as_a_user, lstat=of_link)


def open_all_above(test: SynchronousTestCase, path: Path) -> None:
    """Have others enter every directory above one, as they may not be able to."""
    really = Path.stat

    def stat_of(one: Path, **options: Any) -> os.stat_result:
        found = really(one, **options)
        if one in path.parents:
            return os.stat_result((stat.S_IFDIR | 0o755, *found[1:]))
        return found

    test.patch(Path, "stat", stat_of)


def open_files() -> int:
    """Count the files that this process has open, and nothing forgotten will close."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))
