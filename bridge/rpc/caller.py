"""Who calls a method: one page's socket, or a program by HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from attrs import define


class Caller(Protocol):
    """
    Who called.  Equal to nobody else, and may be a key.

    What a caller holds, such as a port that is listened on, is given up, or left to
    the next, when it has ended.
    """

    def notify(self, event: str, data: Any) -> None:
        """Push an event to this caller alone; ``data`` is plain JSON."""

    def on_close(self, call: Callable[[], None]) -> None:
        """Call when the caller has gone; at once when it has already."""


@define(eq=False)
class Program:
    """Every caller by HTTP: it can't be told anything, and has no end."""

    def notify(self, event: str, data: Any) -> None:
        """See ``Caller.notify``; nothing is told."""

    def on_close(self, call: Callable[[], None]) -> None:
        """See ``Caller.on_close``; never called."""


PROGRAM = Program()
"""The one caller by HTTP."""
