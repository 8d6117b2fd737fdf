"""How repositories are reached: what a clone and a look at one have in common."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from .resolve import LookUp
from .transfer import CloneLimits, Transfer

if TYPE_CHECKING:
    from .https import Server


@frozen
class Remote:
    """
    Reaches repositories over https.

    :ivar ca_file: PEM certificates to trust beside the system's.
    :ivar public_only: Refuse hosts that are not on the public internet.
    :ivar now: A monotonic clock, in seconds.
    """

    ca_file: Path | None
    public_only: bool
    now: Callable[[], float]
    limits: CloneLimits = field()
    look_up: LookUp = socket.getaddrinfo

    @limits.default
    def _limits(self) -> CloneLimits:
        return self.usual_limits()

    @staticmethod
    def usual_limits() -> CloneLimits:
        """Give the limits of one that is given none."""
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
        )
