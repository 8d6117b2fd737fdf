"""A double for the remotes of installed plugins."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from attrs import define, field
from twisted.internet.defer import Deferred

from bridge.plugins.clone.transfer import clone_failed
from bridge.plugins.upstream.history import Behind, LogEntry

from ...threads import at_once

LATEST = "1a7e57" * 6 + "1a7e"


def new_commits(count: int, latest: str = LATEST) -> Behind:
    """Return what a look at a remote with this many new commits finds."""
    entry = LogEntry(latest, "Make it better", "2023-11-14T22:13:20Z")
    return Behind(latest, count, [entry] * count, True)


@define(eq=False)
class FakeUpstream:
    """
    Finds what it is configured to; see ``UpstreamContract``.

    :ivar answers: By URL; an exception is raised, and one new commit is the default.
    :ivar done: The URLs of looks that had everything when they were stopped.
    """

    answers: dict[str, Behind | Exception | None] = field(factory=dict)
    done: set[str] = field(factory=set)

    def behind(self, url: str, current: str, stop: threading.Event) -> Behind | None:
        """See ``Upstream``."""
        if stop.is_set() and url not in self.done:
            raise clone_failed("stopped before it was finished")
        answer = self.answers.get(url, new_commits(1))
        if isinstance(answer, Exception):
            raise answer
        return answer


@define(eq=False)
class Slots:
    """
    Threads in which a call for a slow URL stays until the test lets it end.

    :ivar slow: The URLs.
    :ivar busy: The calls under way: URL, what stops it, and what lets it end.
    """

    slow: set[str] = field(factory=set)
    asked: list[str] = field(factory=list)
    busy: dict[str, tuple[threading.Event, Callable[[], Any]]] = field(factory=dict)

    def __call__(self, call: Callable[..., Any], *arguments: Any) -> Deferred[Any]:
        """See ``InThread``."""
        url, _, stop = arguments
        self.asked.append(url)
        if url not in self.slow:
            return at_once(call, *arguments)
        later: Deferred[Any] = Deferred()

        def end() -> None:
            del self.busy[url]
            at_once(call, *arguments).chainDeferred(later)

        self.busy[url] = stop, end
        return later

    def end(self, url: str) -> None:
        """Let a call end."""
        self.busy[url][1]()

    def stopped(self) -> list[str]:
        """The URLs of calls under way that were stopped."""
        return [url for url, (stop, _) in self.busy.items() if stop.is_set()]
