"""The installed files that the daemon was started from."""

from __future__ import annotations

import os
from pathlib import Path

from attrs import frozen

from .. import __file__ as _package
from ..protocol.errors import BridgeError, Code


@frozen
class Installation:
    """
    The state of the package when the daemon began.

    What is loaded late must come from the same release as what was loaded early, and a
    package manager replaces files under daemons that run.
    """

    _path: Path
    _identity: tuple[int, ...] | None

    @classmethod
    def current(cls, path: str = _package) -> Installation:
        """
        Remember it as it is now.

        :param path: A file that every release replaces.
        """
        return cls(Path(path), _identity(path))

    def check(self) -> None:
        """
        Check that it is still the same.

        :raise BridgeError: ``unavailable``: it was updated or removed.
        """
        if _identity(self._path) != self._identity:
            raise BridgeError(
                Code.UNAVAILABLE,
                "plugin-bridge was updated on this computer while it ran; restart it",
            )


def _identity(path: str | Path) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
