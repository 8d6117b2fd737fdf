"""A double for the remotes of installed plugins."""

from attrs import define, field
from twisted.internet.defer import Deferred

from bridge.plugins.clone.history import Behind, LogEntry

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
    :ivar slow: The URLs of which a look stays under way until the test ends it.
    :ivar asked: The URLs so far.
    :ivar cancelled: Those of looks that were cancelled.
    """

    answers: dict[str, Behind | Exception | None] = field(factory=dict)
    slow: set[str] = field(factory=set)
    asked: list[str] = field(factory=list)
    cancelled: list[str] = field(factory=list)
    _busy: dict[str, Deferred[None]] = field(factory=dict)

    async def tip(self, url: str) -> str:
        """See ``Upstream``."""
        answer = self._answer(url)
        return LATEST if answer is None else answer.latest

    async def behind(self, url: str, current: str) -> Behind | None:
        """See ``Upstream``."""
        self.asked.append(url)
        if url in self.slow:
            self._busy[url] = Deferred(lambda _: self.cancelled.append(url))
            await self._busy[url]
        return self._answer(url)

    def end(self, url: str) -> None:
        """Let the last slow look end."""
        self._busy[url].callback(None)

    def _answer(self, url: str) -> Behind | None:
        answer = self.answers.get(url, new_commits(1))
        if isinstance(answer, Exception):
            raise answer
        return answer
