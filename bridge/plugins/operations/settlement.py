"""
The one place where the installed set changes: trees, records and the bundle together.

Before anything moves, the journal says what would undo it.  An install or an update has
happened when that is removed again, an uninstall when the state has no record; see
docs/decisions/0085.  All else is taken back: at once when it fails, or by the start
after a kill.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import ClassVar

from attrs import field
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...classes import define
from ...concurrency.threads import InThread
from ...protocol.errors import BridgeError, Code, Prefix, plugin_error, unavailable
from ...protocol.limits import BUILD_END_SECONDS
from ...protocol.steps import Operation, Step
from ...store.store import Store
from ...store.tables import Edit
from ...system.files import remove
from ..installed.exchange import Exchange, Journal, JournalError, make_durable
from ..installed.records import read_records
from ..installed.trees import Trees
from .jobs import Job, Jobs, Request, reason
from .rebuild import EventSink, Rebuild


def recover(journal: Journal, store: Store, trees: Trees) -> Exchange | None:
    """
    Restore either the old or the new set completely.  Blocks.

    What can be read is that set when this returns.  The journal stays: the bundle is
    still to be built.  Doing all of it again, after another crash, comes to the same.

    :return: What was under way; ``None`` when nothing was, or only a state that is lost
        knew whether it has happened: then the tree is left in place.
    :raise JournalError: It can't be understood, or the trees can't be moved.  They
        are as they were, and nothing was removed.
    """
    journal.tidy()
    exchange = journal.read()
    if exchange is not None:
        is_lost = store.is_new and exchange.is_done(store)
        try:
            if is_lost:
                exchange.undo(trees.directory)
                journal.end()
            else:
                exchange.settling(store)(trees.directory)
        except OSError as e:
            raise JournalError(
                f"the interrupted {exchange.op} of {exchange.plugin_id} cannot be "
                f"settled: {e.strerror or 'something is in the way in plugins/'}"
            ) from None
        if is_lost:
            exchange = None
        elif not exchange.is_done(store):
            # Also when the state was restored, as its previous generation may not be.
            _take_back(exchange, store)
    trees.sweep()
    return exchange


def _take_back(exchange: Exchange, store: Store) -> None:
    """Let nothing of it be read from now on; see ``Store.insist``."""
    taking_back = store.insist(exchange.rollback_edits(store))
    taking_back.addErrback(lambda _: None)


def notice_of(exchange: Exchange, store: Store) -> str:
    """Return the text for the operator about an operation that was recovered."""
    became = "finished" if exchange.is_done(store) else "rolled back"
    return (
        f"the {exchange.op} of {exchange.plugin_id} was interrupted, and was {became}; "
        "the bundle is built again"
    )


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
        move, is_built = None, False
        try:
            async with self._trees.moving:
                move = await self._settling(exchange, job, done=done)
                if move is not None:
                    await self._in_thread(move, self._trees.directory)
                self._trees.unsettled.discard(exchange.plugin_id)
        finally:
            if move is not None:
                is_built = await self._publish(job if done else None)
        if move is None:
            self._pending = None
            return
        await self._store.commit([])
        # A bundle that may have what was taken back is built again by the next start.
        if is_built or done:
            await self._end(exchange, exchange.old if done else exchange.new)

    async def _settling(
        self, exchange: Exchange, job: Job | None, *, done: bool
    ) -> Callable[[Path], None] | None:
        """Return what moves the trees where they belong; ``None``: none has moved."""
        if not done:
            # Until the trees are where they belong, nothing of the plugin is built.
            self._trees.unsettled.add(exchange.plugin_id)
            if exchange.is_recorded(self._store):
                _take_back(exchange, self._store)
        if not await self._in_thread(self._journal.exists):
            return None
        if not done and job is not None:
            job.roll_back()
        return exchange.settling(self._store)

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
                await self._record(edits)
            except Exception:
                self._trees.unsettled.add(exchange.plugin_id)  # until ``settle``
                raise

    async def _record(self, edits: Sequence[Edit]) -> None:
        try:
            await self._store.commit(edits)
        except BridgeError as e:
            # What is too large is the daemon's own, so it is not the caller's fault.
            code = Code.INTERNAL if e.code == Code.BAD_REQUEST else e.code
            raise BridgeError(code, e.message) from None

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

    async def _settle_or_log(self, job: Job) -> None:
        try:
            await self.settle(job)
        except Exception as e:  # noqa: BLE001
            # The next operation, or the next start, goes on with it.
            if (why := reason(e)) is None:
                self._log.failure("{op} can't be settled yet", op=job.request.op)
            else:
                self._log.error(
                    "{op} can't be settled yet: {why}", op=job.request.op, why=why
                )

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
