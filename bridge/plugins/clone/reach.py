"""Access to repositories, as a clone and an update check share it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from attrs import evolve, field, frozen

from .resolve import LookUp
from .transfer import CloneLimits, Transfer

if TYPE_CHECKING:
    from .https import Server


@frozen
class RepositoryAccess:
    """
    Opens repositories over https.

    :ivar ca_file: PEM certificates to trust in addition to the system's.
    :ivar public_only: Refuse hosts that are not on the public internet.
    :ivar now: A monotonic clock, in seconds.
    :ivar allowed: Private addresses, and private names, that are reached all the same.
    """

    ca_file: Path | None
    public_only: bool
    now: Callable[[], float]
    limits: CloneLimits = field()
    look_up: LookUp = socket.getaddrinfo
    allowed: frozenset[str] = frozenset()

    def public(self, allowed: frozenset[str] = frozenset()) -> Self:
        """Return the same for public hosts, and these private ones."""
        return evolve(self, public_only=True, allowed=allowed)

    @limits.default
    def _limits(self) -> CloneLimits:
        return self.default_limits()

    @staticmethod
    def default_limits() -> CloneLimits:
        """Return the limits that apply unless others are passed."""
        return CloneLimits()

    def open(self, url: str, transfer: Transfer) -> Server:
        """
        Open the server of a repository.

        :raise BridgeError: ``clone_failed``.
        """
        # This loads dulwich, which the daemon's start does not need.
        from .https import open_server

        return open_server(
            url,
            transfer,
            ca_file=self.ca_file,
            public_only=self.public_only,
            look_up=self.look_up,
            allowed=self.allowed,
        )
