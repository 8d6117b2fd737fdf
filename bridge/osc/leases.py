"""The holders of the OSC port, and their leases after they have gone."""

from __future__ import annotations

from collections.abc import Callable

from attrs import field
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ..classes import define
from ..protocol.limits import OSC_LEASE_SECONDS


@define(eq=False, repr=False)
class PortLeases:
    """
    The leases on the port: at most one for each holder.

    A holder that disconnects leaves its lease behind, for ``OSC_LEASE_SECONDS``. Each
    holder that connects adopts one of those, the one left last. So there are never
    more leases than there were holders at once, however often they reconnect.

    :ivar _expired: Called when a lease that was left behind has expired.
    """

    _clock: IReactorTime
    _expired: Callable[[], None]
    _holders: set[object] = field(factory=set)
    _left: list[IDelayedCall] = field(factory=list)

    def __len__(self) -> int:
        return len(self._holders) + len(self._left)

    def add(self, holder: object) -> None:
        """Record that ``holder`` wants the port; a second time changes nothing."""
        self._holders.add(holder)

    def remove(self, holder: object) -> bool:
        """
        End a lease.

        :return: Whether there was one.
        """
        held = holder in self._holders
        self._holders.discard(holder)
        return held

    def release_later(self, holder: object) -> None:
        """Keep the lease of a holder that has disconnected for the next to connect."""
        if self.remove(holder):
            self.keep()

    def keep(self) -> None:
        """Add a lease that was left behind: of a page, or before a restart."""
        expiry = self._clock.callLater(OSC_LEASE_SECONDS, lambda: self._expire(expiry))
        self._left.append(expiry)

    def adopt(self, holder: object) -> None:
        """Pass the lease that was left last, if there is one, to ``holder``."""
        if self._left and holder not in self._holders:
            self._left.pop().cancel()
            self._holders.add(holder)

    def clear(self) -> None:
        """End every lease."""
        self._holders.clear()
        for expiry in self._left:
            expiry.cancel()
        self._left.clear()

    def _expire(self, expiry: IDelayedCall) -> None:
        self._left.remove(expiry)
        self._expired()
