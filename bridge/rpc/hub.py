"""Pushes events to every authenticated socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from attrs import field
from twisted.logger import Logger

from ..classes import define
from ..protocol import frames
from ..protocol.errors import WireString
from .registry import Caller


class Event(WireString):
    """The events a page can be pushed."""

    LOG = "log", "the daemon logs a line at or above --log"
    ERROR = "error", "a frame is refused that has no request id; to its own socket"
    PROGRESS = "progress", "a plugin operation reaches a step"
    PLUGINS = "plugins", "the set of installed plugins has changed"
    BUILD = "build", "a build has ended"
    REMOTE = "remote", "with `--dev`: a snippet is to be evaluated; `{id, code}`"
    OSC = "osc", "an OSC message was received; the newest of each address"


class Subscriber(Caller, Protocol):
    """A socket that wants events."""

    def push(self, event: str, text: bytes) -> None:
        """Send one event; ``text`` is its whole frame."""


@define(eq=False, repr=False)
class Hub:
    """The authenticated sockets.  A failure of one harms no other."""

    _subscribers: dict[Subscriber, None] = field(factory=dict)
    _joined: list[Callable[[Any], None]] = field(factory=list)

    _log: ClassVar[Logger] = Logger()

    def add(self, subscriber: Subscriber) -> None:
        """
        Push to ``subscriber`` from now on.

        A command is no page: it is asked nothing, and what a page has left is not for
        it.
        """
        self._subscribers[subscriber] = None
        for call in self._joined if subscriber.is_page else ():
            call(subscriber)

    def on_join(self, call: Callable[[Any], None]) -> None:
        """Call ``call`` with each page that is added from now on."""
        self._joined.append(call)

    def remove(self, subscriber: Subscriber) -> None:
        """Stop pushing to ``subscriber``; does nothing if it was not added."""
        self._subscribers.pop(subscriber, None)

    def push(self, event: str, data: Any) -> None:
        """Send an event to every subscriber; ``data`` is plain JSON."""
        self._send(event, data, list(self._subscribers))

    def ask(self, event: str, data: Any) -> list[Subscriber]:
        """
        Send an event that pages are to answer.

        :param data: Plain JSON.
        :return: The pages it was sent to.
        """
        pages = [subscriber for subscriber in self._subscribers if subscriber.is_page]
        return self._send(event, data, pages)

    def _send(
        self, event: str, data: Any, subscribers: list[Subscriber]
    ) -> list[Subscriber]:
        text = frames.push(event, data)
        reached = []
        for subscriber in subscribers:
            try:
                subscriber.push(event, text)
                reached.append(subscriber)
            except Exception:  # noqa: BLE001
                self.remove(subscriber)
                self._log.failure("a socket could not be pushed to")
        return reached
