"""A double for the repositories that plugins come from."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attrs import define, field
from twisted.internet.defer import Deferred

from bridge.plugins.clone.history import Behind, LogEntry
from bridge.protocol.errors import clone_failed

from ...threads import Threads

LATEST = "1a7e57" * 6 + "1a7e"


def new_commits(count: int, latest: str = LATEST) -> Behind:
    """Return what a look at a remote with this many new commits finds."""
    entry = LogEntry(latest, "Make it better", "2023-11-14T22:13:20Z")
    return Behind(latest, count, [entry] * count, True)


@define(eq=False)
class FakeRemotes:
    """
    Copies trees, and finds what it is configured to; see ``RemotesContract``.

    :ivar failure: What a clone that has received everything fails with.
    :ivar chunks: What is reported as received so far, each in turn.
    :ivar waits: Holds clones up, as calls of "clone".
    :ivar answers: By URL; an exception is raised, and one new commit is the default.
    :ivar slow: The URLs of which a look stays under way until the test ends it.
    :ivar asked: The URLs so far.
    :ivar cancelled: Those of looks that were cancelled.
    """

    trees: Path = Path("/nonexistent")
    events: list[str] = field(factory=list)
    failure: Exception | None = None
    chunks: Iterable[int] = ()
    commit: str = LATEST
    waits: Threads = field(factory=Threads)
    answers: dict[str, Behind | Exception | None] = field(factory=dict)
    slow: set[str] = field(factory=set)
    asked: list[str] = field(factory=list)
    cancelled: list[str] = field(factory=list)
    _busy: dict[str, Deferred[None]] = field(factory=dict)

    async def clone(self, url: str, into: Path, progress: Any) -> str:

        def clone() -> None:
            self.events.append("clone")

        await self.waits(clone)
        source = self.trees / url.split("/")[-1].removesuffix(".git")
        if not source.is_dir():
            raise clone_failed("not found")
        for count in self.chunks:
            progress(count)
        if self.failure is not None:
            raise self.failure
        if os.path.lexists(into):
            raise clone_failed("the files could not be written: File exists")
        shutil.copytree(source, into)
        into.chmod(0o700)
        return self.commit

    async def tip(self, url: str) -> str:
        answer = self._answer(url)
        return LATEST if answer is None else answer.latest

    async def behind(self, url: str, current: str) -> Behind | None:
        self.asked.append(url)
        if url in self.slow:
            self._busy[url] = Deferred(lambda _: self.cancelled.append(url))
            await self._busy[url]
        answer = self._answer(url)
        return None if answer is None or answer.latest == current else answer

    def end(self, url: str) -> None:
        self._busy[url].callback(None)

    def _answer(self, url: str) -> Behind | None:
        answer = self.answers.get(url, new_commits(1))
        if isinstance(answer, Exception):
            raise answer
        return answer
