"""The steps that an install and an update share, down to one commit."""

from __future__ import annotations

from attrs import evolve
from twisted.internet.interfaces import IReactorTime

from ...approval import Operation
from ...classes import define
from ...concurrency.threads import InThread
from ...protocol.steps import Step
from ...store import Drop, Edit, Store
from ..installed.exchange import Exchange
from ..installed.keys import Trust
from ..installed.records import Record, former, settings_namespace
from ..installed.trees import ListEntry, Trees
from .candidate import Candidate, CandidateFetcher
from .prompting import Prompting
from .settlement import InstalledSet
from .underway.operations import Operations
from .underway.running import Running


@define(eq=False)
class Pipeline:
    """Puts the tree of a candidate in place, under a record of it."""

    _operations: Operations
    _prompting: Prompting
    _fetcher: CandidateFetcher
    _installed: InstalledSet
    _trust: Trust
    _store: Store
    _trees: Trees
    _clock: IReactorTime
    _in_thread: InThread

    async def _begin_move(
        self, running: Running, candidate: Candidate, accepted: bool
    ) -> None:
        """
        Wait for the turn to change the set, in which the key must still be trusted.

        :param accepted: The result of ``ask_for_trust``.
        """
        await self._installed.begin(running, self._operations.commit_lock)
        self._prompting.check_trust(candidate, accepted)
        running.reached(Step.MOVE, f"Putting {candidate.manifest.id} in place")

    async def _commit(
        self, running: Running, candidate: Candidate, replaced: Record | None
    ) -> ListEntry:
        """
        Replace the tree and the record of a plugin, and build with the new ones.

        :param replaced: The record of the tree in place; ``None`` for an install, which
            must have no tree in place either.
        :return: The plugin's list entry.
        """
        plugin_id = candidate.manifest.id
        now = int(self._clock.seconds() * 1000)
        record = _record(candidate, replaced, now)
        trusted = self._trust.acceptance(
            plugin_id, candidate.url, candidate.signed, now
        )
        edits = [record.put(plugin_id), *trusted]
        changed = edits if replaced else [*edits, *self._new_settings(plugin_id)]
        exchange = Exchange(
            Operation.UPDATE if replaced else Operation.INSTALL,
            plugin_id,
            candidate.root.name,
            await self._in_thread(self._trees.aside, plugin_id) if replaced else None,
            record.fields(),
            former(self._store, changed),
        )
        await self._installed.change(running, exchange, edits)
        return ListEntry.recorded(candidate.manifest, record)

    def _new_settings(self, plugin_id: str) -> list[Edit]:
        """Return what removes the settings that the plugin makes from now on."""
        settings = settings_namespace(plugin_id)
        # Existing settings are the user's, and stay.
        return [] if self._store.entries(settings) else [Drop(settings)]


def _record(candidate: Candidate, replaced: Record | None, now_ms: int) -> Record:
    signed = candidate.signed
    if replaced is None:
        return Record(
            url=candidate.url,
            commit=candidate.commit,
            key_id=signed.key_id,
            signed_at=signed.signed_at,
            installed_at=now_ms,
            updated_at=now_ms,
        )
    return evolve(
        replaced,
        commit=candidate.commit,
        key_id=signed.key_id,
        signed_at=signed.signed_at,
        # Always a new value, whatever the clock shows: the two sets are distinguished
        # by their records.
        updated_at=max(now_ms, replaced.updated_at + 1),
    )
