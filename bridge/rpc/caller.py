"""The callers of methods: a page's socket, or a program by HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from twisted.internet.defer import Deferred, succeed

from ..classes import define
from ..concurrency.shares import Holder


class Caller(Holder, Protocol):
    """
    The caller of a method.  Equal to no other, and usable as a key.

    When it ends, what it holds, such as a port that is listened on, is released or
    left to the next caller.
    """

    def notify(self, event: str, data: Any) -> None:
        """Push an event to this caller alone; ``data`` is plain JSON."""


@define(eq=False)
class HttpCaller:
    """Every caller by HTTP: it receives no events, and has no end."""

    is_page: bool = False

    def notify(self, event: str, data: Any) -> None:
        """See ``Caller.notify``; does nothing."""

    def on_close(self, call: Callable[[Any], None]) -> None:
        """See ``Caller.on_close``; never calls it."""

    def drained(self) -> Deferred[None]:
        """See ``Holder.drained``; what is sent by HTTP waits elsewhere."""
        return succeed(None)


HTTP_CALLER = HttpCaller()
"""The one caller by HTTP."""
