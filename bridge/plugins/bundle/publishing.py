"""
Where a build publishes: the theme's folder, for one build at a time.

What is published is written in a directory of its own inside the folder, so that it
gets into its place by renaming.  Everything here blocks; the caller runs it in a
thread.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from attrs import field

from ...classes import define
from ...datadir.paths import check_publishable, make_directories, write_file
from ...protocol.errors import BridgeError
from ...protocol.limits import BUILD_BUNDLE_BYTES, MANIFEST_BYTES
from ...protocol.strictjson import loads
from ...system.files import (
    LockedError,
    acquire,
    acquire_directory,
    read_bounded,
    remove,
    sync_directory,
    sync_files,
)

INFO_FILE: Final = "info.json"
"""What the bundle was built of."""

STAGING_PREFIX: Final = ".build-"
"""Of the directory that a build works in; a killed one leaves it."""

_PREVIOUS: Final = ".previous"


@define(eq=False)
class Staging:
    """
    The theme's folder during one build.

    :ivar folder: Where the bundle is published.
    """

    folder: Path
    _lock_file: Path
    _locks: contextlib.ExitStack = field(factory=contextlib.ExitStack, init=False)

    def claim(self) -> bool:
        """
        Lock the data directory's builds and the folder, until ``release``.

        Daemons of several data directories may publish there, one at a time.

        :return: False while another build holds a lock.
        :raise NotOwnError: Others could publish there, too.
        :raise OSError: There is no room, or no permission.
        """
        with contextlib.ExitStack() as locks:
            try:
                # First: without a data directory it fails, and none may be made here.
                locks.enter_context(acquire(self._lock_file))
                make_directories(self.folder)
                check_publishable(self.folder)
                locks.enter_context(acquire_directory(self.folder))
            except LockedError:
                return False
            self._locks = locks.pop_all()
        _remove_stale(self.folder)
        return True

    def release(self) -> None:
        """Let the next build have them."""
        self._locks.close()

    def publish(self, files: Mapping[str, bytes]) -> None:
        """
        Write files and rename them into place, in this order.

        :param files: By name; the last one is what shows that all are in place.
        :raise OSError: It could not be done, and the previous files are as before.
        """
        directory = self.folder / f"{STAGING_PREFIX}{os.getpid()}"
        directory.mkdir(mode=0o700)
        try:
            for name, content in files.items():
                write_file(directory / name, content, 0o644)
                with contextlib.suppress(FileNotFoundError):
                    _keep(self.folder / name, directory / f"{name}{_PREVIOUS}")
            sync_files([directory / name for name in files])
            with contextlib.ExitStack() as undoing:
                for name in files:
                    place = self.folder / name
                    os.replace(directory / name, place)
                    undoing.callback(_restore, directory / f"{name}{_PREVIOUS}", place)
                undoing.pop_all()
            sync_directory(self.folder)
        finally:
            _discard(directory)


def _restore(previous: Path, place: Path) -> None:
    with contextlib.suppress(OSError):
        if previous.exists():
            os.replace(previous, place)
        else:
            place.unlink()


def is_current(
    bundle: Path, version: str, recorded: Collection[str], sources: Path
) -> bool:
    """
    Whether there is a bundle that a build at the start would only repeat.  Blocks.

    It is not when one of its files is missing, when a killed build has left some that
    don't belong together, when another version has built it, or of older sources, with
    linked trees in it, or with other plugins than the installed ones: one that was left
    out may have been repaired meanwhile.

    :param bundle: Its file.
    :param version: Of this daemon.
    :param recorded: The ids of the installed plugins.
    :param sources: The directory of the host's, which is replaced as a whole.
    """
    described = bundle.with_name(INFO_FILE)
    try:
        if sources.stat().st_mtime_ns > described.stat().st_mtime_ns:
            return False
        info = loads(read_bounded(described, MANIFEST_BYTES))
        if type(info) is not dict or "dev" in info or info.get("version") != version:
            return False
        plugins = info.get("plugins")
        if type(plugins) is not list or {*map(str, plugins)} != {*recorded}:
            return False
        files = [bundle, bundle.with_name(f"{bundle.name}.map")]
        contents = [read_bounded(path, BUILD_BUNDLE_BYTES) for path in files]
    except (OSError, BridgeError):
        return False
    digests = [sha256(content).hexdigest() for content in contents]
    return [info.get("sha256"), info.get("mapSha256")] == digests


def sweep(folder: Path) -> None:
    """
    Remove the working directories that killed builds have left.  Blocks.

    Nothing happens while another daemon builds there; that build removes them.

    :param folder: The theme's folder.
    """
    with contextlib.suppress(LockedError, OSError), acquire_directory(folder):
        _remove_stale(folder)


def _remove_stale(folder: Path) -> None:
    for stale in folder.glob(f"{STAGING_PREFIX}*"):
        _discard(stale)


def _discard(path: Path) -> None:
    """Remove what a build worked with, or leave that to the next."""
    with contextlib.suppress(OSError):
        remove(path)


def replace_file(path: Path, content: bytes) -> None:
    """
    Replace a file as a whole, by one that need not survive a power loss.

    To rename takes longer than to see that it has this content already.
    """
    with contextlib.suppress(OSError):
        if read_bounded(path, len(content)) == content:
            return
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    write_file(temporary, content)
    os.replace(temporary, path)


def _keep(path: Path, name: Path) -> None:
    """Give a file another name, or copy it where that can't be."""
    try:
        os.link(path, name, follow_symlinks=False)
    except OSError:
        shutil.copyfile(path, name)
