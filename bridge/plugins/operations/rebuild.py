"""
Builds the bundle of the installed plugins, one run at a time.

Before each build every recorded tree is verified, because a tree on disk may be
changed by anybody who can write there.  One that was changed is left out, and named
in the report.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Protocol

from attrs import field
from twisted.internet.defer import CancelledError, Deferred, DeferredLock, fail
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...classes import define
from ...concurrency.shares import SharedRuns
from ...protocol.errors import BridgeError, shutting_down
from ...protocol.limits import BUILD_END_SECONDS
from ...store.store import Store
from ..bundle.build import Report
from ..installed.records import read_records
from ..installed.trees import ListEntry, Trees
from ..tree.tree import Verified, Verify
from .jobs import Jobs


class Builds(Protocol):
    """Makes bundles; see ``Builder``."""

    async def build(self, verify: Verify, needed: frozenset[str]) -> Report:
        """Verify trees and bundle them; a failed build is a report too."""


class EventSink(Protocol):
    """Receives reports about plugins, for the pages."""

    def plugins(self, entries: list[ListEntry]) -> None:
        """The set of installed plugins has changed; these are all of it now."""

    def built(self, report: Report) -> None:
        """A build has ended."""


@define(eq=False)
class Rebuild:
    """
    Builds, one run at a time; see ``SharedRuns``.

    :ivar lock: Held by each run, and by what must not happen during one.
    """

    _store: Store
    _trees: Trees
    _builder: Builds
    _sink: EventSink
    _building: Deferred[Report] | None = field(default=None, init=False)
    _cut: bool = field(default=False, init=False)
    lock: DeferredLock = field(factory=DeferredLock, init=False)
    _runs: SharedRuns[Report] = field(init=False)
    _needed: set[str] = field(factory=set, init=False)
    _closed: bool = field(default=False, init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self._runs = SharedRuns(self._build_once, self.lock)

    def build(self, *needed: str) -> Deferred[Report]:
        """
        Build the bundle of every installed plugin.

        Every report is pushed to pages before it is returned.

        :param needed: The ids of plugins without which nothing is published.
        """
        if self._closed:
            return fail(shutting_down())
        self._needed.update(needed)
        return self._runs.ask()

    def begin(self) -> None:
        """Build without a caller; a daemon that ends need not."""

        def log_failure(failure: Failure) -> None:
            failure.trap(BridgeError)
            if not self._closed:
                # There is no report, so nothing else says it.
                error: Any = failure.value
                self._log.warn(
                    "there was no build at the start: {why}", why=error.message
                )

        self.build().addErrback(log_failure)

    async def _build_once(self) -> Report:
        needed, self._needed = frozenset(self._needed), set()
        if self._cut:
            raise shutting_down()
        records = read_records(self._store)

        def verify() -> Verified:
            return self._trees.verified_trees(records)

        self._building = Deferred.fromCoroutine(self._builder.build(verify, needed))
        try:
            report = await self._building
        except CancelledError:
            raise shutting_down() from None
        finally:
            self._building = None
        for line in report.errors:
            self._log.warn("{line}", line=line)
        try:
            self._sink.built(report)
        except Exception:  # noqa: BLE001
            self._log.failure("the report was not pushed")
        return report

    def cut_off(self) -> None:
        """Refuse new builds, and kill the one under way."""
        self._closed = self._cut = True
        if self._building is not None:
            self._building.cancel()

    def close(self) -> Deferred[None]:
        """
        Refuse new builds.

        :return: Fires when no build is under way.
        """
        self._closed = True
        return self.lock.run(lambda: None)


async def end_operations(
    unlink: Callable[[], Awaitable[object]],
    jobs: Jobs,
    rebuild: Rebuild,
    clock: IReactorTime,
) -> None:
    """
    Finish or undo every operation, at the shutdown of the daemon.

    A bundler may hang until its deadline; a daemon that takes that long to stop may be
    killed.  So builds end within ``BUILD_END_SECONDS``.

    :param unlink: Takes linked trees out of the bundle.
    """
    cutting = clock.callLater(BUILD_END_SECONDS, rebuild.cut_off)
    try:
        await unlink()
        await jobs.close()
        await rebuild.close()
    finally:
        if cutting.active():
            cutting.cancel()
