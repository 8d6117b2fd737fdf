"""Leads to a server: looks its name up, checks its addresses, and gets TLS ready."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, field
from twisted.internet.defer import Deferred

from ..classes import define, frozen
from ..protocol.errors import unavailable
from ..protocol.limits import OUTBOUND_ADDRESSES
from .addresspolicy import AddressPolicy
from .exchange import Connections
from .resolver import LookUp, SystemNames
from .responseguard import Count
from .target import Target
from .trust import HostTLS, Trust


@frozen(eq=False, repr=False)
class FetchConfig:
    """
    What ``outbound`` can reach.  Only tests, which have no internet, pass another.

    :ivar look_up: From a name to its addresses; the system's resolver by default.
    :ivar ca_file: Authorities to trust in addition to the system's, in PEM.
    """

    policy: AddressPolicy = field(factory=AddressPolicy)
    look_up: LookUp | None = None
    ca_file: Path | None = None


@define(eq=False, repr=False)
class HttpClient:
    """
    Connects to servers, each within the address policy of who asks.

    :ivar _call: Calls in a thread.
    :ivar _look_up: From a name to its addresses.
    :ivar _trust: Whose certificates are believed.
    """

    _reactor: Any
    _call: Callable[..., Deferred[Any]]
    _look_up: LookUp
    _trust: Trust

    def trusting(self, ca_file: Path | None) -> HttpClient:
        """Return a client that trusts these authorities, in PEM, as well."""
        return self if ca_file is None else evolve(self, trust=Trust(ca_file))

    async def connect(
        self,
        target: Target,
        policy: AddressPolicy,
        seconds: float,
        count: Count,
        *,
        keep: bool = False,
    ) -> Connections:
        """
        Get ready to send requests to a target's host; close what it returns.

        :param seconds: How long the last of its addresses is tried.
        :param count: Counts what is received, heads and all.
        :param keep: Whether requests share a connection when the server lets them.
        :raise BridgeError: ``NotPublicError``; ``unavailable``: the name has no
            address, or too many, or the CA file can't be used; ``bad_request``: no
            certificate can be for that name.
        """
        policy.check_target(target)
        addresses = await self._addresses(target, policy)
        tls = None
        if target.scheme == "https":
            context = self._trust.current() or await self._call(self._trust.renewed)
            tls = HostTLS(context, target.host)
        return Connections(
            self._reactor, addresses, target.port, tls, seconds, count, keep
        )

    async def _addresses(self, target: Target, policy: AddressPolicy) -> Sequence[str]:
        if target.is_address:
            return [target.host]
        addresses = await self._look_up(target.host)
        if not addresses:
            raise unavailable("the host's name could not be resolved")
        if len(addresses) > OUTBOUND_ADDRESSES:
            raise unavailable("the host's name has too many addresses")
        policy.check_addresses(target, addresses)
        return addresses


def make_client(
    reactor: Any,
    call: Callable[..., Deferred[Any]],
    ca_file: Path | None = None,
    look_up: LookUp | None = None,
) -> HttpClient:
    """
    Make a client; TLS is prepared at its first request.

    :param call: Calls in a thread.
    :param look_up: From a name to its addresses; the system's resolver by default.
    """
    names = look_up or SystemNames(reactor.callFromThread).look_up
    return HttpClient(reactor, call, names, Trust(ca_file))
