"""Leads to a server: looks its name up, checks its addresses, and gets TLS ready."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve, field
from twisted.internet.defer import Deferred

from ..classes import define
from ..concurrency.threads import NO_THREAD
from ..protocol.errors import unavailable
from ..protocol.limits import OUTBOUND_ADDRESSES, OUTBOUND_LOOK_UPS
from .addresspolicy import AddressPolicy
from .exchange import Connections
from .responseguard import Count
from .target import Target
from .trust import HostTLS, Trust

LookUp = Callable[[str], "Deferred[Sequence[str]]"]
"""From a host name to its addresses, none when it has none."""

_Asked = dict[str, "list[Deferred[Sequence[str]]]"]


@define(eq=False, repr=False)
class SystemNames:
    """
    Looks names up as every program does: ``/etc/hosts``, DNS, and so on.

    A look-up can't be interrupted, so each has a thread of its own, for which neither a
    fetch at its deadline nor the daemon's shutdown waits.

    One for a name serves all who ask for it meanwhile.  Over the limit the others wait,
    each for as long as its caller has time.

    :ivar from_thread: Calls in the reactor's thread.
    """

    _from_thread: Callable[..., Any]
    _resolve: Callable[..., Sequence[tuple[Any, ...]]] = socket.getaddrinfo
    _under_way: _Asked = field(factory=dict, init=False)
    _waiting: _Asked = field(factory=dict, init=False)

    def look_up(self, host: str) -> Deferred[Sequence[str]]:
        """
        Look one name up.

        :return: Fires with the addresses, each once, in the resolver's order.
            Fails with ``BridgeError``, ``unavailable``: the system has no room for
            another thread.
        """
        answer: Deferred[Sequence[str]] = Deferred(partial(self._leave, host))
        asked = self._under_way if host in self._under_way else self._waiting
        asked.setdefault(host, []).append(answer)
        self._begin()
        return answer

    def _leave(self, host: str, answer: Deferred[Sequence[str]]) -> None:
        """Forget who waits no more."""
        for asked in (self._under_way, self._waiting):
            if answer in asked.get(host, ()):
                asked[host].remove(answer)
        if self._waiting.get(host) == []:
            del self._waiting[host]

    def _begin(self) -> None:
        while self._waiting and len(self._under_way) < OUTBOUND_LOOK_UPS:
            host = next(iter(self._waiting))
            answers = self._under_way[host] = self._waiting.pop(host)
            # The daemon flag: Python does not wait for it at its end.
            asking = threading.Thread(
                target=self._ask, args=(host,), name="outbound-names", daemon=True
            )
            try:
                asking.start()
            except RuntimeError:
                del self._under_way[host]
                for answer in answers:
                    answer.errback(unavailable(NO_THREAD))

    def _ask(self, host: str) -> None:
        addresses: list[str] = []
        # A name that can't be encoded is a ValueError.
        with contextlib.suppress(OSError, ValueError):
            found = self._resolve(host, None, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))
        self._from_thread(self._answered, host, addresses)

    def _answered(self, host: str, addresses: list[str]) -> None:
        answers = self._under_way.pop(host)
        self._begin()
        for answer in answers:
            if not answer.called:  # who was answered before may have cancelled it
                answer.callback(addresses)


@define(eq=False, repr=False)
class HttpClient:
    """
    Connects to servers, each within the address policy of who asks.

    TLS is prepared at its first request.

    :ivar _call: Calls in a thread.
    :ivar _look_up: From a name to its addresses; the system's resolver by default.
    :ivar _trust: Whose certificates are believed; by default the system's.
    """

    _reactor: Any
    _call: Callable[..., Deferred[Any]]
    _look_up: LookUp = field()
    _trust: Trust = field(factory=Trust)

    @_look_up.default
    def _system(self) -> LookUp:
        return SystemNames(self._reactor.callFromThread).look_up

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
