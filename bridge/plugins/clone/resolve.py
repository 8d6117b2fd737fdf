"""Name look-ups that end when the clone does."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from attrs import frozen

from .transfer import clone_failed

_CHECK_SECONDS: Final = 0.2


# ``socket.getaddrinfo``: host, port, family, type of socket.
LookUp = Callable[[str, int, int, int], Sequence[tuple[Any, Any, Any, Any, Any]]]


@frozen
class Endpoint:
    """One address to connect to, in the form of the socket module."""

    family: int
    address: tuple[Any, ...]

    @property
    def host(self) -> str:
        """The address in text form."""
        return str(self.address[0])


def resolve(
    host: str, port: int, look_up: LookUp, check: Callable[[], None]
) -> list[Endpoint]:
    """
    Resolve a name in a thread of its own, since a look-up cannot be interrupted.

    :param check: Called a few times a second; what it raises ends the wait, and
        the thread goes when the resolver gives up.
    :raise BridgeError: The name has no address.
    """
    answers: queue.SimpleQueue[list[Endpoint]] = queue.SimpleQueue()

    def ask() -> None:
        found: Sequence[tuple[Any, Any, Any, Any, Any]] = ()
        # A name that cannot be encoded is a ValueError.
        with contextlib.suppress(OSError, ValueError):
            found = look_up(host, port, 0, socket.SOCK_STREAM)
        answers.put([Endpoint(family, tuple(to)) for family, _, _, _, to in found])

    thread = threading.Thread(target=ask, name="clone-resolver", daemon=True)
    thread.start()
    while True:
        try:
            answer = answers.get(timeout=_CHECK_SECONDS)
        except queue.Empty:
            check()
            continue
        thread.join()
        if not answer:
            raise clone_failed("the host's name could not be resolved")
        return answer
