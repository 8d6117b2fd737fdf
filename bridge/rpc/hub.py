"""Pushes events to every authenticated socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from attrs import define, field
from twisted.logger import Logger

from ..protocol import frames
from ..protocol.errors import WireString


class Event(WireString):
    """The events a page can be pushed."""

    LOG = "log", "the daemon logs a line at or above --log"
    ERROR = "error", "a frame is refused that has no request id; to its own socket"
    PROGRESS = "progress", "a plugin operation reaches a step"
    PLUGINS = "plugins", "the set of installed plugins has changed"
    BUILD = "build", "a build has ended"
    REMOTE = "remote", "with `--dev`: a snippet is to be evaluated; `{id, code}`"
    OSC = "osc", "an OSC message was received; the newest of each address"


class Subscriber(Protocol):
    """A socket that wants events."""

    def push(self, event: str, text: bytes) -> None:
        """Send one event; ``text`` is its whole frame."""

    def on_close(self, call: Callable[[Any], None]) -> None:
        """Call ``call`` when the socket has closed; see ``Caller.on_close``."""


@define(eq=False, repr=False)
class Hub:
    """The authenticated sockets.  A failure of one harms no other."""

    _subscribers: list[Subscriber] = field(factory=list)
    _joined: list[Callable[[Any], None]] = field(factory=list)

    _log: ClassVar[Logger] = Logger()

    def add(self, subscriber: Subscriber) -> None:
        """Push to ``subscriber`` from now on."""
        self._subscribers.append(subscriber)
        for call in self._joined:
            call(subscriber)

    def on_join(self, call: Callable[[Any], None]) -> None:
        """Call ``call`` with each subscriber that is added from now on."""
        self._joined.append(call)

    def remove(self, subscriber: Subscriber) -> None:
        """Stop pushing to ``subscriber``; does nothing if it was not added."""
        self._subscribers = [s for s in self._subscribers if s is not subscriber]

    def __len__(self) -> int:
        return len(self._subscribers)

    def push(self, event: str, data: Any) -> None:
        """Send an event to every subscriber; ``data`` is plain JSON."""
        self.ask(event, data)

    def ask(self, event: str, data: Any) -> list[Subscriber]:
        """
        Send an event that is to be answered.

        :param data: Plain JSON.
        :return: The subscribers it was sent to, which may answer.
        """
        text = frames.push(event, data)
        reached = []
        for subscriber in list(self._subscribers):
            try:
                subscriber.push(event, text)
                reached.append(subscriber)
            except Exception:  # noqa: BLE001
                self.remove(subscriber)
                self._log.failure("a socket could not be pushed to")
        return reached
