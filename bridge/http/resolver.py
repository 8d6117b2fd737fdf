"""Host names to addresses, by the system's resolver."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred, fail

from ..classes import define
from ..concurrency.threads import NO_THREAD
from ..protocol.errors import unavailable
from ..protocol.limits import OUTBOUND_LOOK_UPS

LookUp = Callable[[str], "Deferred[Sequence[str]]"]
"""From a host name to its addresses, none when it has none."""


@define(eq=False, repr=False)
class SystemNames:
    """
    Looks names up as every program does: ``/etc/hosts``, DNS, and so on.

    A look-up can't be interrupted, so each has a thread of its own, for which neither a
    fetch at its deadline nor the daemon's shutdown waits.

    :ivar from_thread: Calls in the reactor's thread.
    """

    _from_thread: Callable[..., Any]
    _resolve: Callable[..., Sequence[tuple[Any, ...]]] = socket.getaddrinfo
    _under_way: int = 0

    def look_up(self, host: str) -> Deferred[Sequence[str]]:
        """
        Look one name up.

        :return: Fires with the addresses, each once, in the resolver's order.
            Fails with ``BridgeError``, ``unavailable``: too many look-ups hang, or the
            system has no room for another thread.
        """
        if self._under_way >= OUTBOUND_LOOK_UPS:
            return fail(unavailable("too many names are looked up"))
        answer: Deferred[Sequence[str]] = Deferred()
        # The daemon flag: Python does not wait for it at its end.
        asking = threading.Thread(
            target=self._ask, args=(host, answer), name="outbound-names", daemon=True
        )
        try:
            asking.start()
        except RuntimeError:
            return fail(unavailable(NO_THREAD))
        self._under_way += 1
        return answer

    def _ask(self, host: str, answer: Deferred[Sequence[str]]) -> None:
        addresses: list[str] = []
        # A name that can't be encoded is a ValueError.
        with contextlib.suppress(OSError, ValueError):
            found = self._resolve(host, None, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))
        self._from_thread(self._answered, answer, addresses)

    def _answered(self, answer: Deferred[Sequence[str]], addresses: list[str]) -> None:
        self._under_way -= 1
        answer.callback(addresses)  # nothing happens when it was cancelled
