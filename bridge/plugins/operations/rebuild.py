"""
Builds the bundle of the installed plugins, none of which changes meanwhile.

Before each build every recorded tree is verified, because a tree on disk may be
changed by anybody who can write there.  One that was changed is left out, and named
in the report.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import starmap
from typing import Any, ClassVar, Final, Protocol

from attrs import evolve, field
from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...classes import define
from ...concurrency.shares import SharedRuns
from ...protocol.errors import BridgeError, Prefix, plugin_error, shutting_down
from ...protocol.limits import BUILD_AGAIN_SECONDS
from ...protocol.text import in_line
from ...store.store import Store
from ..bundle.build import Builder, Report
from ..installed.records import read_records
from ..installed.trees import Broken, ListEntry, PluginList, Trees
from ..tree.tree import Verified

_FAILED: Final = "the bundle is not up to date, as the last build failed"


class EventSink(Protocol):
    """Receives reports about plugins, for the pages."""

    def plugins(self, entries: list[ListEntry]) -> None:
        """The set of installed plugins has changed; these are all of it now."""

    def built(self, report: Report) -> None:
        """A build has ended."""


@define(eq=False)
class Rebuild:
    """
    Builds, one run at a time.

    :ivar _commit_lock: Held by each run; see ``Jobs``.
    :ivar owed: Why the bundle may be of other plugins than those installed now: the
        last build has failed.  Else empty.
    """

    _store: Store
    _trees: Trees
    _builder: Builder
    _sink: EventSink
    _commit_lock: DeferredLock
    _clock: IReactorTime
    owed: str = field(default="", init=False)
    _tried_at: float = field(default=0.0, init=False)
    _building: Deferred[Report] | None = field(default=None, init=False)
    _runs: SharedRuns[Report] = field(init=False)
    _closed: bool = field(default=False, init=False)
    _left_out: dict[str, str] = field(factory=dict, init=False)
    _repeated: set[str] = field(factory=set, init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self._runs = SharedRuns(self.build, self._commit_lock)

    def ask(self, begun: Callable[[], object] = lambda: None) -> Deferred[Report]:
        """
        Build when nothing changes the plugins; see ``SharedRuns.ask``.

        Don't wait for it with the commit lock.
        """
        return self._runs.ask(begun)

    def begin(self) -> None:
        """Build without a caller; a daemon that ends need not."""

        def log_failure(failure: Failure) -> None:
            failure.trap(BridgeError)
            if not self._closed:
                # There is no report, so nothing else says it.
                error: Any = failure.value
                self._log.warn("there was no build: {why}", why=error.message)

        self.ask().addErrback(log_failure)

    def completed(self, listing: PluginList) -> PluginList:
        """
        Add to what is broken what is sound, but was left out by the last build.

        For that another build is begun, once: its tree may have been unreadable for a
        moment, and nothing else would put it back.
        """
        self.try_again()
        sound = {one.id for one in listing.plugins if not (one.problem or one.dev)}
        left_out = {one: why for one, why in self._left_out.items() if one in sound}
        if not left_out.keys() <= self._repeated:
            self.begin()
        self._repeated = {*left_out}
        return PluginList(
            [
                evolve(one, problem=left_out.get(one.id, one.problem))
                for one in listing.plugins
            ],
            [*listing.broken, *starmap(Broken, left_out.items())],
        )

    def try_again(self) -> None:
        """Begin a build, now and again, after one that has failed: on a full disk."""
        passed = self._clock.seconds() - self._tried_at
        if self.owed and passed >= BUILD_AGAIN_SECONDS:
            self.begin()

    async def build(self, *needed: str) -> Report:
        """
        Build the bundle of every installed plugin.  Call it with the commit lock.

        Every report is pushed to pages before it is returned.

        :param needed: The ids of plugins without which nothing is published.
        :raise BridgeError: The daemon ends.
        """
        self.raise_if_closed()
        self._tried_at = self._clock.seconds()
        records = read_records(self._store)

        def verify() -> Verified:
            return self._trees.verified_trees(records)

        building = self._builder.build(verify, frozenset(needed))
        self._building = Deferred.fromCoroutine(building)
        try:
            report = await self._building
        except CancelledError:
            raise shutting_down() from None
        finally:
            self._building = None
            self._tried_at = self._clock.seconds()
        self.owed = "" if report.ok else in_line(f"{_FAILED}: {report.errors[0]}")
        if report.ok:
            self._left_out = {
                one: _reason(one, report.errors)
                for one in sorted(records.keys() - {*report.plugins})
            }
        for line in report.errors:
            self._log.warn("{line}", line=line)
        try:
            self._sink.built(report)
        except Exception:  # noqa: BLE001
            self._log.failure("the report was not pushed")
        return report

    def raise_if_closed(self) -> None:
        """
        Check that there can be a build.

        :raise BridgeError: ``unavailable``: the daemon is shutting down.
        """
        if self._closed:
            raise shutting_down()

    def cut_off(self) -> None:
        """Refuse new builds, and kill the one under way."""
        self._closed = True
        if self._building is not None:
            self._building.cancel()

    def close(self) -> Deferred[None]:
        """
        Refuse new builds.

        :return: Fires when no build is under way.
        """
        self._closed = True
        return self._commit_lock.run(lambda: None)


def _reason(plugin_id: str, errors: list[str]) -> str:
    start = f"{plugin_id} is left out: "
    found = (one.removeprefix(start) for one in errors if one.startswith(start))
    why = f"the last build left it out: {next(found, 'see its report')}"
    return plugin_error(Prefix.BUILD_FAILED, why).message
