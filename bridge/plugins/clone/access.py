"""Access to repositories, as a clone and a look for updates share it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Self, TypeVar

from attrs import evolve, field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from ...classes import frozen
from ...concurrency.threads import InThread
from ...http.addresspolicy import AddressPolicy
from ...http.client import HttpClient
from .server import Server
from .transfer import CloneLimits, Received, clone_failed
from .urls import check_url

T = TypeVar("T")


@frozen
class RepositoryAccess:
    """
    Opens repositories over https.

    :ivar clock: Measures the time they may take.
    :ivar in_thread: Where what they send is read and unpacked.
    :ivar policy: Which addresses may be dialled.
    """

    client: HttpClient
    clock: IReactorTime
    in_thread: InThread
    policy: AddressPolicy
    limits: CloneLimits = field()

    @limits.default
    def _limits(self) -> CloneLimits:
        return self.default_limits()

    @staticmethod
    def default_limits() -> CloneLimits:
        """Return the limits that apply unless others are passed."""
        return CloneLimits()

    def public(self, also: frozenset[tuple[str, int]] = frozenset()) -> Self:
        """Return the same for public hosts, and these private ones with their port."""
        return evolve(self, policy=AddressPolicy(public_only=True, also=also))

    async def opened(
        self,
        url: str,
        work: Callable[[Server], Awaitable[T]],
        progress: Callable[[int], None] = lambda count: None,
    ) -> T:
        """
        Do something with a repository's server, within the limits.

        Cancelling it ends it at once, wherever it is.

        :param progress: Called with the bytes received so far, at most 5 times a
            second.
        :raise BridgeError: ``not_https``, ``clone_failed``, or what ``work`` raises.
        """
        check_url(url)
        received = Received(self.limits.received_bytes, self.clock.seconds, progress)
        server = Server(url, self.client, self.policy, self.limits, received.add)

        async def working() -> T:
            try:
                return await work(server)
            finally:
                await server.close()

        def too_late(result: object, seconds: float) -> object:
            if isinstance(result, Failure):
                raise clone_failed(f"not finished within {seconds:g} seconds")
            return result

        limited = Deferred.fromCoroutine(working())
        limited.addTimeout(self.limits.seconds, self.clock, too_late)
        return await limited
