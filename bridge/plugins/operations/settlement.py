"""
The one place where the installed set changes: trees, records and the bundle together.

Before anything moves, the journal says what would undo it.  An install or an update has
happened when that is removed again, an uninstall when the state has no record; see
docs/decisions/0085.  All else is taken back: at once when it fails, or by the start
after a kill.

Before each build every recorded tree is verified, because a tree on disk may be
changed by anybody who can write there.  One that was changed is left out, and named
in the report.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import starmap
from typing import Any, ClassVar, Final, Protocol

from attrs import evolve, field
from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...classes import define
from ...concurrency.shares import SharedRuns
from ...concurrency.threads import InThread
from ...protocol.errors import (
    BridgeError,
    Prefix,
    plugin_error,
    shutting_down,
    unavailable,
)
from ...protocol.limits import BUILD_AGAIN_SECONDS, BUILD_END_SECONDS
from ...protocol.steps import Operation, Step
from ...protocol.text import in_line
from ...store.state import Edit
from ...store.store import Store
from ...system.files import remove
from ..bundle.build import Builder, Report
from ..installed.exchange import Exchange, Journal, make_durable
from ..installed.records import read_records
from ..installed.trees import Broken, ListEntry, PluginList, Trees
from ..tree.tree import Verified
from .jobs import Job, Jobs, Request, reason

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
    Builds the bundle of the installed plugins, none of which changes meanwhile.

    :ivar _commit_lock: Held by each run; see ``Jobs``.
    :ivar settle: Called before a build that was asked for, with the lock: what is not
        settled yet may have waited for one.
    :ivar owed: Why the bundle may be of other plugins than those installed now: the
        last build has failed.  Else empty.
    """

    _store: Store
    _trees: Trees
    _builder: Builder
    _sink: EventSink
    _commit_lock: DeferredLock
    _clock: IReactorTime
    settle: Callable[[], Awaitable[object]] | None = field(default=None, init=False)
    owed: str = field(default="", init=False)
    _tried_at: float = field(default=0.0, init=False)
    _building: Deferred[Report] | None = field(default=None, init=False)
    _runs: SharedRuns[Report] = field(init=False)
    _closed: bool = field(default=False, init=False)
    _left_out: dict[str, str] = field(factory=dict, init=False)
    _repeated: set[str] = field(factory=set, init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self._runs = SharedRuns(self._run, self._commit_lock)

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

    async def _run(self) -> Report:
        if self.settle is not None:
            await self.settle()
        return await self.build()

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
                one: _why_left_out(one, report.errors)
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


@define(eq=False)
class BuiltSet:
    """The parts of what changes which plugins there are, and builds them."""

    _jobs: Jobs
    _store: Store
    _trees: Trees
    _rebuild: Rebuild
    _sink: EventSink
    _in_thread: InThread

    async def _push_entries(self) -> None:
        """Show the pages which plugins there are now."""
        entries = await self._in_thread(self._trees.entries, read_records(self._store))
        self._sink.plugins(entries)


@define(eq=False)
class InstalledSet(BuiltSet):
    """Replaces the installed set by another one: whole, or not at all."""

    _journal: Journal
    _pending: Exchange | None = field(default=None, init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self._rebuild.settle = self._settle_or_log

    async def begin(self, job: Job) -> None:
        """
        Wait for the turn to change the set, from which on the operation is finished.

        :raise BridgeError: It was cancelled, or an earlier change can't be settled.
        """
        await job.hold(self._jobs.commit_lock)
        job.commit()
        await self.settle()

    async def change(self, job: Job, exchange: Exchange, edits: Sequence[Edit]) -> None:
        """
        Put a tree in place, or take one away, with its records, and build the bundle.

        Call it after ``begin``.

        :raise BridgeError: It could not be done, so it was taken back: from what can
            be read and built at once, from a disk that fails when that works again.
            So does ``OSError``.
        """
        if exchange.new is not None:
            clone = self._trees.directory / exchange.new
            await self._in_thread(make_durable, clone)
            # On a slow disk, going on to a build that is refused takes too long.
            self._rebuild.raise_if_closed()
        self._pending = exchange
        try:
            await self._in_thread(self._journal.begin, exchange)
            await self._exchange(exchange, edits)
            if exchange.new is not None:
                await self._push_entries()
                job.reached(Step.BUILD, "Building the bundle")
                await self._build_with(exchange.plugin_id)
                await self._end(exchange, exchange.old)
        except Exception:
            # Of an uninstall, the state may have it although its write failed.
            if not exchange.is_done(self._store):
                await self._settle_or_log(job)
                raise
        await self._settle_or_log(job)

    async def settle(self, job: Job | None = None) -> None:
        """
        Make all agree on what has happened: trees, state, bundle and journal.

        It is done after a change and after one that failed, before the next one, and
        at a start, and goes on wherever it was ended before.  Call it with the commit
        lock, and before the state is read.

        :param job: The operation that is settled; ``None`` for an earlier one's.
        :raise OSError: It can't be ended now; so does ``BridgeError``.  What can be
            read is settled even so.
        """
        exchange = self._pending
        if exchange is None:
            return
        done = exchange.is_done(self._store)
        moved = is_built = False
        try:
            async with self._trees.moving:
                moved = await self._begin_settling(exchange, job, done=done)
                if moved:
                    move = exchange.do if done else exchange.undo
                    await self._in_thread(move, self._trees.directory)
                self._trees.unsettled.discard(exchange.plugin_id)
        finally:
            if moved:
                is_built = await self._publish(job if done else None)
        if not moved:
            self._pending = None
            return
        await self._store.commit([])
        # A bundle that may have what was taken back is built again by the next start.
        if is_built or done:
            await self._end(exchange, exchange.old if done else exchange.new)

    async def _begin_settling(
        self, exchange: Exchange, job: Job | None, *, done: bool
    ) -> bool:
        """Take back what was recorded, unless it is done; whether a tree may move."""
        if not done:
            # Until the trees are where they belong, nothing of the plugin is built.
            self._trees.unsettled.add(exchange.plugin_id)
            if exchange.is_recorded(self._store):
                exchange.take_back(self._store)
        if not await self._in_thread(self._journal.exists):
            return False
        if not done and job is not None:
            job.roll_back()
        return True

    def resume(self, exchange: Exchange) -> None:
        """
        End what a kill has interrupted, in the background: with a build.

        :param exchange: What ``recover`` has found.
        """
        self._pending = exchange
        op = Operation(exchange.op)
        plugin_id = None if op == Operation.INSTALL else exchange.plugin_id

        async def body(job: Job) -> None:
            await job.hold(self._jobs.plugin_lock(exchange.plugin_id))
            await job.hold(self._jobs.commit_lock)
            job.commit()
            await self.settle(job)
            if not exchange.is_done(self._store):
                raise unavailable("the daemon was ended meanwhile; ask again")

        request = Request(op, plugin_id=plugin_id)
        self._jobs.run(request, body).addErrback(lambda _: None)

    async def close(
        self, unlink: Callable[[], Awaitable[object]], clock: IReactorTime
    ) -> None:
        """
        Finish or undo every operation, at the shutdown of the daemon.

        A bundler may hang until its deadline; a daemon that takes that long to stop may
        be killed.  So builds end within ``BUILD_END_SECONDS``.

        :param unlink: Takes linked trees out of the bundle.
        """
        cutting = clock.callLater(BUILD_END_SECONDS, self._rebuild.cut_off)
        try:
            await unlink()
            await self._jobs.close()
            await self._rebuild.close()
        finally:
            if cutting.active():
                cutting.cancel()

    async def _exchange(self, exchange: Exchange, edits: Sequence[Edit]) -> None:
        """Move the trees and edit the state, while nobody compares the two."""
        async with self._trees.moving:
            try:
                if exchange.new is not None:
                    self._rebuild.raise_if_closed()
                await self._in_thread(exchange.do, self._trees.directory)
                await self._store.commit(edits)
            except Exception:
                self._trees.unsettled.add(exchange.plugin_id)  # until ``settle``
                raise

    async def _build_with(self, plugin_id: str) -> None:
        """
        Build the bundle with a plugin.

        :raise BridgeError: ``build_failed``: it is not in the bundle.
        """
        self.refuse_linked(plugin_id)
        report = await self._rebuild.build(plugin_id)
        if not report.ok:
            raise plugin_error(Prefix.BUILD_FAILED, report.errors[0])

    def refuse_linked(self, plugin_id: str) -> None:
        """
        Refuse what would not be built, since a linked tree stands for it.

        :raise BridgeError: ``build_failed``.
        """
        if plugin_id in self._trees.linked:
            raise plugin_error(
                Prefix.BUILD_FAILED,
                f"plugin-bridge dev has linked {plugin_id}, so this one would not be "
                "built; end that first",
            )

    async def _settle_or_log(self, job: Job | None = None) -> None:
        op = self._pending and self._pending.op
        try:
            await self.settle(job)
        except Exception as e:  # noqa: BLE001
            # The next operation or build, or the next start, goes on with it.
            if (why := reason(e)) is None:
                self._log.failure("{op} can't be settled yet", op=op)
            else:
                self._log.error("{op} can't be settled yet: {why}", op=op, why=why)

    async def _publish(self, job: Job | None) -> bool:
        """
        Push the set to pages, and build it.

        :return: Whether it could be built.
        :raise BridgeError: The daemon ends, so the next start builds it.
        """
        try:
            await self._push_entries()
        except Exception:  # noqa: BLE001
            self._log.failure("the list of plugins was not pushed")
        if job is not None:
            job.reached(Step.BUILD, "Building the bundle")
        try:
            report = await self._rebuild.build()
        except BridgeError:
            raise
        except Exception:  # noqa: BLE001
            self._log.failure("the bundle could not be built again")
            return False
        if not report.ok:
            line = next(iter(report.errors), "no reason is known")
            self._log.error("the bundle could not be built again: {line}", line=line)
        return report.ok

    async def _end(self, exchange: Exchange, left: str | None) -> None:
        """
        Remove the journal, and then the tree that is not wanted any more.

        :param left: The name of that tree, if there is one.
        :raise OSError: The journal is still there; so does ``BridgeError``.
        """
        try:
            await self._in_thread(self._journal.end)
        except OSError:
            if self._journal.exists():  # asked here: there may be no thread now
                raise
            # After a loss of power it may be there again, and want the old tree.
            self._log.failure("the removal of the journal is not durable")
            self._pending = None
            return
        self._pending = None
        if left is not None:
            try:
                await self._in_thread(remove, self._trees.directory / left)
            except (OSError, BridgeError):  # it has happened already
                self._log.failure("{name} is removed at the next start", name=left)


def _why_left_out(plugin_id: str, errors: list[str]) -> str:
    start = f"{plugin_id} is left out: "
    found = (one.removeprefix(start) for one in errors if one.startswith(start))
    why = f"the last build left it out: {next(found, 'see its report')}"
    return plugin_error(Prefix.BUILD_FAILED, why).message
