"""Dials checked addresses, where an HTTP client would look a name up."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any

from attrs import field
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import (
    TCP4ClientEndpoint,
    TCP6ClientEndpoint,
    wrapClientTLS,
)
from twisted.internet.error import ConnectError
from twisted.internet.interfaces import IProtocolFactory, IStreamClientEndpoint
from twisted.web.iweb import IAgentEndpointFactory
from zope.interface import implementer

from ..classes import define
from ..protocol.limits import OUTBOUND_NEXT_ADDRESS_SECONDS
from .responseguard import Count, Guarded, GuardedFactory


@implementer(IStreamClientEndpoint, IAgentEndpointFactory)
@define(eq=False, repr=False)
class CheckedEndpoint:
    """
    Connects to the first of a host's checked addresses that answers.

    :ivar seconds: How long the whole exchange may take: the last address has all
        of what is left of it.
    :ivar count: Counts what is received.
    :ivar made: The connections so far, the newest last.
    """

    _reactor: Any
    _addresses: Sequence[str]
    _port: int
    _tls: Any | None
    _seconds: float
    _count: Count
    made: list[Guarded] = field(factory=list, init=False)

    def endpointForURI(self, uri: object) -> CheckedEndpoint:
        """Return itself, whatever the URI: the host was checked already."""
        return self

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[Any]:
        """Connect; fires with the protocol of ``protocolFactory``."""
        return Deferred.fromCoroutine(self._connect(protocolFactory))

    async def _connect(self, client: IProtocolFactory) -> Any:
        factory = GuardedFactory(client.buildProtocol, self._count)
        *others, last = self._addresses
        for address in others:
            try:
                return await self._try(address, OUTBOUND_NEXT_ADDRESS_SECONDS, factory)
            except ConnectError:
                continue
        return await self._try(last, self._seconds, factory)

    async def _try(self, address: str, seconds: float, factory: GuardedFactory) -> Any:
        is_v6 = ipaddress.ip_address(address).version == 6
        kind: Any = TCP6ClientEndpoint if is_v6 else TCP4ClientEndpoint
        endpoint = kind(self._reactor, address, self._port, timeout=seconds)
        if self._tls is not None:
            endpoint = wrapClientTLS(self._tls, endpoint)
        connection: Guarded = await endpoint.connect(factory)
        self.made.append(connection)
        return connection.inner
