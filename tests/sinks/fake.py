"""A sink that does what its test configures."""

from collections.abc import Callable
from typing import Any

from attrs import define, field

from bridge.sinks.fanout import FIELDS, Health, Notification, UnavailableError


def failing(error: Exception) -> Callable[[], Any]:
    """Make what raises."""

    def fails() -> Any:
        raise error

    return fails


@define(eq=False)
class FakeSink:
    """Keeps what it is delivered."""

    name: str = "fake"
    starting: Callable[[], Any] = lambda: None
    showing: Callable[[], Any] = lambda: None
    honours: tuple[str, ...] = FIELDS
    description: str = "a list"
    has_started: bool = False
    shown: list[Notification] = field(factory=list)

    def start(self) -> Any:
        result = self.starting()
        self.has_started = True
        return result

    def health(self) -> Health:
        return Health.UP if self.has_started else Health.DOWN

    def deliver(self, notification: Notification) -> Any:
        if not self.has_started:
            raise UnavailableError("it has ended")
        result = self.showing()
        self.shown.append(notification)
        return result

    def close(self) -> None:
        self.has_started = False
