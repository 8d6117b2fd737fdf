"""Taking an installation away: the bundle, and the data directory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..plugins.bundle.publishing import INFO_FILE, STAGING_PREFIX
from ..protocol.text import shown
from ..settings.host import Paths
from ..system.files import remove
from ..system.locks import LockedError
from .hostsources import check_directory_host
from .npm import SetupError

_PATIENCE_SECONDS: Final = 15.0

# Of VRCNext's earlier daemon, whose directory is used as it is.
_OLD_LOG: Final = "bridge.log"

# Of what is written in steps, of older generations, and of SQLite's.
_SUFFIX: Final = (
    r"(?:\.(?:bak|corrupt-[0-9]+|[0-9]+))?(?:\.tmp)?(?:-(?:wal|shm|journal))?"
)


def published(place: Paths) -> list[Path]:
    """Return what was published for the host application, as far as it is there."""
    bundle = place.bundle
    files = (bundle, bundle.with_name(f"{bundle.name}.map"))
    return [p for p in (*files, bundle.with_name(INFO_FILE)) if os.path.isfile(p)]


def check_removable(place: Paths) -> None:
    """
    Check that a directory is the daemon's, before all in it is deleted.

    :raise UserError: It is a link, another host's, holds your home directory, or has
        other files.
    """
    data, root = place.data, place.data.root
    if not root.exists():
        return
    home = Path.home().resolve()
    if root.is_symlink() or root.resolve() in (home, *home.parents):
        raise SetupError(f"{root} is no data directory of its own; nothing was removed")
    check_directory_host(place)
    names = (*data.names(), _OLD_LOG, *_placed_names(place))
    own = re.compile(f"(?:{'|'.join(map(re.escape, names))}){_SUFFIX}")
    for path in sorted(root.iterdir()):
        if not own.fullmatch(path.name):
            raise SetupError(
                f"{shown(str(path))} is not plugin-bridge's; nothing was removed"
            )


def _placed_names(place: Paths) -> Iterator[str]:
    """List the names in the data directory that the host's profile chooses."""
    root, profile = place.data.root, place.profile
    databases = (profile.database(alias, root) for alias in profile.databases)
    for path in (place.theme_dir, profile.theme_dir(root), *databases):
        if path.is_relative_to(root):
            yield from path.relative_to(root).parts[:1]


def remove_all(place: Paths, patience: float = _PATIENCE_SECONDS) -> None:
    """
    Remove what was published, and the data directory.

    :param patience: Seconds to wait for a daemon that is ending.
    :raise SetupError: A daemon uses the directory, or something can't be removed.
    """
    check_removable(place)
    try:
        if place.data.root.exists():
            _remove_data(place, patience)
        else:
            _remove_published(place)
    except LockedError as e:
        raise SetupError(place.data.used_by(e.pid)) from None
    except OSError as e:
        raise SetupError(f"{e.filename} cannot be removed: {e.strerror}") from None


def _remove_data(place: Paths, patience: float) -> None:
    root, lock = place.data.root, place.data.lock
    with place.data.claim(patience):
        # No daemon starts as long as its lock is held, so that goes last.
        _remove_published(place)
        for path in root.iterdir():
            if path != lock:
                remove(path)
    remove(root)


def _remove_published(place: Paths) -> None:
    for path in published(place):
        path.unlink()
    folder = place.bundle.parent
    if folder.is_dir():
        for left in folder.glob(f"{STAGING_PREFIX}*"):
            remove(left)
        if not any(folder.iterdir()):
            folder.rmdir()
