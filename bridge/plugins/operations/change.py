"""
Commits a change of trees, records and the bundle, with the undo of each step.

Every method is called by an operation that holds the commit lock.  The new set replaces
the old one at the store's commit.  The next start rolls back what was interrupted
before it, and continues what was interrupted after it, with its build.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from attrs import define, field
from twisted.logger import Logger

from ...concurrency.threads import InThread
from ...protocol.errors import BridgeError, Code, Prefix, plugin_error
from ...store import Edit, Store
from ..installed.exchange import Exchange, make_durable
from ..installed.journal import Journal
from ..installed.records import Record, read_records
from ..installed.trees import ListEntry, Trees
from .candidate import REMOVE_CLONE
from .rebuild import Rebuild
from .underway.progress import Audience, Step
from .underway.running import Running


@define(eq=False)
class Change:
    """Changes the set of installed plugins."""

    _store: Store
    _trees: Trees
    _rebuild: Rebuild
    _audience: Audience
    _in_thread: InThread
    _journal: Journal
    _unsettled: Exchange | None = field(default=None, init=False)

    _log: ClassVar[Logger] = Logger()

    async def settle_earlier(self, running: Running) -> None:
        """
        Finish what an earlier operation failed to undo, which changes the state.

        Call it before reading the state, and before ``exchange``.

        :raise OSError: It failed again; so does ``BridgeError``.
        """
        earlier = self._unsettled
        if earlier is None:
            return
        running.undo.afterwards("end the earlier journal", lambda: self._end(earlier))
        running.undo.afterwards("build without it", self._restore)
        if earlier.is_to_be_built(self._store):
            await self._roll_back(earlier)
        await self._settle(earlier)
        for name in (earlier.new, earlier.old):
            if name is not None:
                await self._in_thread(self._trees.remove, self._trees.directory / name)

    async def carry_out(
        self,
        running: Running,
        exchange: Exchange,
        record: Record,
        edits: Sequence[Edit],
    ) -> ListEntry:
        """
        Put a new tree and its record in place, and build with it.

        :param record: The plugin's, as ``edits`` put it.
        :return: The plugin's list entry.
        :raise BridgeError: It could not be done; so does ``OSError``.
        """
        plugin_id = exchange.plugin_id
        await self.exchange(running, exchange)
        entry: ListEntry = await self._in_thread(self._trees.entry, plugin_id, record)
        await self.record(running, exchange, edits)
        await self.announce(running)
        running.reached(Step.BUILD, "Building the bundle")
        await self.build(plugin_id)
        await self.finish(exchange)
        return entry

    async def exchange(self, running: Running, exchange: Exchange) -> None:
        """
        Put the new tree in place and the old one aside.

        :raise OSError: It could not be done.
        """
        running.undo.afterwards("end the journal", lambda: self._end(exchange))
        if exchange.old is not None:
            # A build that somebody else asked for may see the place empty.
            running.undo.afterwards("build without it", self._restore)
        running.undo.add(
            "put the trees back", lambda: self._put_back(running, exchange)
        )
        self._unsettled = exchange
        if exchange.new is not None:
            clone = self._trees.directory / exchange.new
            await self._in_thread(make_durable, clone)
        await self._in_thread(self._journal.begin, exchange)
        await self._in_thread(exchange.do, self._trees.directory)
        running.undo.add("report the rollback", lambda: self._report_rollback(running))

    async def _report_rollback(self, running: Running) -> None:
        running.reached(Step.ROLLBACK, "Putting everything back")

    async def _settle(self, exchange: Exchange) -> None:
        """
        Move the trees to match the state; nothing else may move before.

        :raise BridgeError: It is not known whether the state file matches, too.
        """
        move = exchange.settling(self._store)
        await self._in_thread(move, self._trees.directory)
        if not exchange.is_to_be_built(self._store):
            # A write that failed may be in the file even so; without the journal, the
            # next start would believe it.
            await self._store.assure()
            self._unsettled = None

    async def _put_back(self, running: Running, exchange: Exchange) -> None:
        try:
            await self._settle(exchange)
        except Exception:
            # The next start may find the new set in the file, and want this tree.
            running.undo.discard(REMOVE_CLONE)
            raise

    async def _end(self, exchange: Exchange) -> None:
        if self._unsettled is not None or self._rebuild.stale:
            return  # the next exchange, or the next start, goes on with it
        await self._in_thread(self._journal.end)
        if exchange.old is not None:
            old = self._trees.directory / exchange.old
            await self._in_thread(self._trees.remove, old)

    async def finish(self, exchange: Exchange) -> None:
        """Remove what was kept for an undo; a failure is only logged."""
        self._unsettled = None
        try:
            await self._end(exchange)
        except Exception:  # noqa: BLE001
            self._log.failure("what is left is removed at the next start")

    async def record(
        self, running: Running, exchange: Exchange, edits: Sequence[Edit]
    ) -> None:
        """
        Commit all the edits, or none.  Undoing restores what the exchange has kept.

        :raise BridgeError: ``internal``: they could not be written.
        """
        try:
            await self._store.commit(edits)
        except BridgeError as e:
            # What is too large is the daemon's own, so it is not the caller's fault.
            code = Code.INTERNAL if e.code == Code.BAD_REQUEST else e.code
            raise BridgeError(code, e.message) from None
        self._undo_record(running, exchange)

    def _undo_record(self, running: Running, exchange: Exchange) -> None:
        running.undo.add("roll the record back", lambda: self._roll_back(exchange))

    async def _roll_back(self, exchange: Exchange) -> None:
        await self._store.commit(exchange.rollback_edits(self._store))
        await self._renew()

    async def _renew(self) -> None:
        """Remove what was rolled back from the previous generation; log a failure."""
        try:
            await self._store.renew()
        except BridgeError as e:
            self._log.error(
                "what was rolled back is still in the previous generation: {why}",
                why=e.message,
            )

    async def announce(self, running: Running) -> None:
        """Push the new set to pages; undoing pushes and builds the old one."""
        running.undo.afterwards("build without it", self._restore)
        await self._push_entries()

    async def _restore(self) -> None:
        await self._push_entries()
        try:
            report = await self._rebuild.run()
        except BridgeError as e:
            self._log.warn("the bundle was not built again: {why}", why=e.message)
            return
        if not report.ok:
            self._log.error("the bundle could not be built as it was, either")

    async def _push_entries(self) -> None:
        entries = await self._in_thread(self._trees.entries, read_records(self._store))
        self._audience.plugins(entries)

    async def rebuild_without(self, running: Running) -> None:
        """
        Push the new set to pages, and build it.

        A failed build is in its report; nothing is rolled back.
        """
        running.undo.keep()
        try:
            await self._push_entries()
            running.reached(Step.BUILD, "Building the bundle")
            await self._rebuild.run()
        except BridgeError as e:
            self._log.warn("the bundle still has the plugin: {why}", why=e.message)
        except Exception:  # noqa: BLE001
            self._log.failure("the bundle still has the plugin in it")

    async def resume(self, running: Running, exchange: Exchange) -> None:
        """
        Finish an operation that was interrupted before its build had ended.

        :param exchange: Settled.  If its new tree is in place and can't be built, it
            is rolled back.
        :raise BridgeError: ``build_failed``: it was rolled back.
        """
        running.reached(Step.BUILD, "Building the bundle")
        if exchange.is_to_be_built(self._store):
            self._undo_resumed(running, exchange)
            await self.build(exchange.plugin_id)
        else:
            report = await self._rebuild.run()
            for line in report.errors:
                self._log.warn("building after an interruption: {line}", line=line)
            if exchange.new is not None:
                await self._renew()  # the kill may have come before that
        await self.finish(exchange)

    def _undo_resumed(self, running: Running, exchange: Exchange) -> None:
        undo = running.undo
        undo.afterwards("end the journal", lambda: self._end(exchange))
        undo.afterwards("build without it", self._restore)
        clone = self._trees.directory / str(exchange.new)
        undo.add(REMOVE_CLONE, lambda: self._in_thread(self._trees.remove, clone))
        self._unsettled = exchange
        undo.add("put the trees back", lambda: self._put_back(running, exchange))
        undo.add("report the rollback", lambda: self._report_rollback(running))
        self._undo_record(running, exchange)

    async def build(self, plugin_id: str) -> None:
        """
        Build the bundle with the plugin.

        :raise BridgeError: ``build_failed``: it is not in the bundle.
        """
        if plugin_id in self._trees.linked:
            raise plugin_error(
                Prefix.BUILD_FAILED,
                f"plugin-bridge dev has linked {plugin_id}, so this one would not be "
                "built; end that first",
            )
        report = await self._rebuild.run()
        if report.ok and plugin_id in report.plugins:
            return
        first = next(iter(report.errors), "the plugin was left out of the bundle")
        raise plugin_error(Prefix.BUILD_FAILED, first)
