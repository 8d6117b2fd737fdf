"""The pairing token that a daemon accepts: that of its file, as it is now."""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Final

from attrs import field
from twisted.logger import Logger

from ..classes import define
from ..datadir.token import TokenError, read_token

LOOK_SECONDS: Final = 1.0
"""How long what the file holds is taken as known."""


@define(eq=False, repr=False)
class FollowedToken:
    """
    The token that a daemon accepts: that of its file, as it is now.

    :ivar _token: What was read of it.
    :ivar replaced: Called when the file holds another token than before.
    """

    _path: Path
    _token: str
    _seconds: Callable[[], float]
    replaced: Callable[[], object] = field(default=lambda: None, init=False)
    _defect: str | None = field(default=None, init=False)
    # Nothing equals it: the first look reads the file.
    _status: object = field(factory=object, init=False)
    _looked: float = field(init=False)

    _log: ClassVar[Logger] = Logger(namespace="bridge")

    def __attrs_post_init__(self) -> None:
        self._looked = self._seconds()

    def matches(self, offered: bytes) -> bool:
        """
        Whether this is the token; compares in constant time.

        Nothing is while the file is missing or unusable.
        """
        if self._seconds() - self._looked >= LOOK_SECONDS:
            self.look()
        known = hmac.compare_digest(self._token.encode("ascii"), offered)
        return known and self._defect is None

    def reveal(self) -> str:
        """Return the last token there was, to keep it out of logs."""
        return self._token

    def look(self) -> None:
        """Look at the status of the file, and read it if that has changed."""
        self._looked = self._seconds()
        status = _status(self._path)
        if status != self._status:
            self._status = status
            self._read()

    def _read(self) -> None:
        before = self._token
        try:
            self._token = read_token(self._path)
        except FileNotFoundError:
            fix = "run with --rotate-token, then pair again"
            self._unusable(f"{self._path} is missing; {fix}")
            return
        except TokenError as e:
            self._unusable(str(e))
            return
        if self._defect is not None:
            self._log.info("the pairing token can be used again")
        self._defect = None
        if self._token != before:
            self._log.warn("the pairing token was replaced; every page must pair again")
            self.replaced()

    def _unusable(self, why: str) -> None:
        # It is read again at the next look: the reason may be the daemon's own, such as
        # too many open files.
        self._status = object()
        if why != self._defect:
            self._log.error("no page can pair: {why}", why=why)
        self._defect = why


def _status(path: Path) -> object:
    """Return what changes with a file's content or mode; ``None`` without a file."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    times = found.st_mtime_ns, found.st_ctime_ns
    return found.st_dev, found.st_ino, found.st_size, found.st_mode, *times
