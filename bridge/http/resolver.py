"""Host names to addresses, by the system's resolver."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from attrs import field
from twisted.internet.defer import Deferred

from ..classes import define
from ..concurrency.threads import NO_THREAD
from ..protocol.errors import unavailable
from ..protocol.limits import OUTBOUND_LOOK_UPS

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
