"""
What commits a change: trees, records and the bundle, each with what undoes it.

Every method is called by an operation that holds the commit lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from attrs import define
from twisted.logger import Logger

from ..protocol.errors import BridgeError, Code, Prefix, plugin_error
from ..store import Edit, Store
from ..store.store import InThread
from .candidate import Candidate
from .operations import Running
from .progress import Audience, Step
from .rebuild import Rebuild
from .records import inverse, read_records
from .trees import Trees


@define(eq=False)
class Change:
    """Changes the set of installed plugins."""

    _store: Store
    _trees: Trees
    _rebuild: Rebuild
    _audience: Audience
    _in_thread: InThread

    _log: ClassVar[Logger] = Logger()

    async def put_in(self, running: Running, candidate: Candidate) -> None:
        """
        Move a candidate's tree to its place.

        :raise OSError: It could not be moved.
        """
        plugin_id = candidate.manifest.id

        async def take_out() -> None:
            running.reached(Step.ROLLBACK, f"Taking {plugin_id} out again")
            await self._in_thread(self._trees.take_out, plugin_id)

        await self._in_thread(self._trees.put_in, candidate.root, plugin_id)
        running.undo.add("take the tree out", take_out)

    async def record(
        self, running: Running, edits: Sequence[Edit], undoing: Sequence[Edit] = ()
    ) -> None:
        """
        Make all the edits, or none.  Undone, each value is as before.

        :param undoing: What is committed, too, when they are undone.
        :raise BridgeError: ``internal``: they could not be written.
        """
        undone = [*inverse(self._store, edits), *undoing]
        try:
            await self._store.commit(edits)
        except BridgeError as e:
            # What is too large is the daemon's own, so it is not the caller's fault.
            code = Code.INTERNAL if e.code == Code.BAD_REQUEST else e.code
            raise BridgeError(code, e.message) from None
        running.undo.add("take the record back", lambda: self._store.commit(undone))

    async def announce(self, running: Running) -> None:
        """Tell pages of the new set; undone, they are told again and it is built."""
        running.undo.afterwards("build without it", self._restore)
        await self._tell()

    async def _restore(self) -> None:
        await self._tell()
        report = await self._rebuild.run(restoring=True)
        if not report.ok:
            self._log.error("the bundle could not be built without the plugin either")

    async def _tell(self) -> None:
        entries = await self._in_thread(self._trees.entries, read_records(self._store))
        self._audience.plugins(entries)

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
