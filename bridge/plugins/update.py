"""Updating a plugin: the steps of an install, and a tree that gives way."""

from __future__ import annotations

from typing import Any

from attrs import define, evolve
from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IReactorTime

from ..approval import Operation
from ..protocol.errors import BridgeError, Code, Prefix, plugin_error
from ..store import Store
from ..threads import InThread
from .candidate import Candidate, Fetcher
from .change import Change
from .exchange import Exchange
from .manifest import Manifest, check_id
from .operations import Operations, Running
from .progress import Step
from .prompting import Prompting
from .records import Record, former, recorded
from .trees import Trees
from .trust import Trust
from .urls import check_url
from .versions import is_lower


@define(eq=False)
class Updater:
    """Updates plugins."""

    _operations: Operations
    _prompting: Prompting
    _fetcher: Fetcher
    _change: Change
    _trust: Trust
    _store: Store
    _trees: Trees
    _clock: IReactorTime
    _in_thread: InThread

    def update(self, plugin_id: str) -> Deferred[dict[str, Any]]:
        """
        Fetch an installed plugin anew from where it came from.

        It goes on when the answer is cancelled.

        :return: Fires with the plugin's list entry; fails with ``BridgeError`` when
            all is as before.
        """
        try:
            check_id(plugin_id)
        except BridgeError as refused:
            return fail(refused)
        return self._operations.run(
            Operation.UPDATE,
            plugin_id,
            lambda running: self._update(running, plugin_id),
        )

    async def _update(self, running: Running, plugin_id: str) -> dict[str, Any]:
        await running.hold(self._operations.plugin_lock(plugin_id))
        record = recorded(self._store, plugin_id)
        if not record.key_id:
            raise plugin_error(
                Prefix.REINSTALL_REQUIRED,
                f"the record of {plugin_id} names no signing key; uninstall the plugin "
                "and install it again",
            )
        check_url(record.url)
        installed = await self._in_thread(self._trees.manifest, plugin_id)
        version = installed.version if installed else "unknown"
        prompts = self._prompting.prompts
        prompt = prompts.update(plugin_id, record.url, version, record.commit)
        await self._prompting.ask(running, prompt)
        candidate = await self._fetcher.fetch(running, record.url)
        self._check(plugin_id, candidate, record, installed)
        if candidate.signed.key_id != record.key_id:
            await self._prompting.ask_to_rotate(running, candidate, record.key_id)
        accepted = await self._prompting.ask_for_trust(running, candidate)
        await running.hold(self._operations.commit_lock)
        running.commit()
        await self._change.settle_earlier(running)
        if recorded(self._store, plugin_id) != record:
            raise BridgeError(
                Code.UNAVAILABLE,
                "an earlier update of this plugin was taken back first; ask again",
            )
        self._prompting.check_trust(candidate, accepted)
        return await self._commit(running, candidate, record)

    def _check(
        self,
        plugin_id: str,
        candidate: Candidate,
        record: Record,
        installed: Manifest | None,
    ) -> None:
        """
        Refuse another plugin, and an older one.

        :param installed: ``None`` when it can't be read.
        """
        if candidate.manifest.id != plugin_id:
            raise plugin_error(
                Prefix.MANIFEST_INVALID,
                f"id: the repository is now that of {candidate.manifest.id}",
            )
        if installed and is_lower(candidate.manifest.version, installed.version):
            raise plugin_error(
                Prefix.DOWNGRADE, "version is lower than that of the installed tree"
            )
        if candidate.signed.signed_at < record.signed_at:
            raise plugin_error(
                Prefix.DOWNGRADE, "signedAt is earlier than that of the installed tree"
            )
        self._trust.check_mark(plugin_id, candidate.signed)

    async def _commit(
        self, running: Running, candidate: Candidate, before: Record
    ) -> dict[str, Any]:
        plugin_id, signed = candidate.manifest.id, candidate.signed
        running.reached(Step.MOVE, f"Putting {plugin_id} in place")
        now = int(self._clock.seconds() * 1000)
        record = evolve(
            before,
            commit=candidate.commit,
            key_id=signed.key_id,
            signed_at=signed.signed_at,
            # Another one than before whatever the clock says: a start after a crash
            # tells the two sets apart by their records.
            updated_at=max(now, before.updated_at + 1),
        )
        trusted = self._trust.acceptance(plugin_id, candidate.url, signed, now)
        edits = [record.put(plugin_id), *trusted]
        there = await self._in_thread(self._trees.has, plugin_id)
        exchange = Exchange(
            Operation.UPDATE,
            plugin_id,
            candidate.root.name,
            self._trees.fresh().name if there else None,
            record.fields(),
            former(self._store, edits),
        )
        return await self._change.carry_out(running, exchange, record, edits)
