"""Updating a plugin: the steps of an install, which replace the tree in place."""

from __future__ import annotations

from typing import Protocol

from twisted.internet.defer import Deferred, ensureDeferred, fail

from ...approval import Operation
from ...classes import define, frozen
from ...concurrency.shares import Holder
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...store import Store
from ..clone.urls import check_url
from ..installed.keys import signed_earlier
from ..installed.records import Record, recorded
from ..installed.trees import ListEntry
from ..tree.manifest import Manifest, check_id
from ..tree.versions import is_lower
from .candidate import Candidate
from .kept import Pin
from .pipeline import Pipeline
from .underway.running import Running, ref_of


class Tips(Protocol):
    """Looks at repositories; see ``GitUpstream``."""

    async def tip(self, url: str) -> str:
        """Return the commit of the default branch; can be cancelled."""


@frozen
class Updated:
    """
    What an update came to.

    :ivar plugin: The plugin's list entry.
    :ivar updated: Whether anything was new; if not, nothing was asked or changed.
    """

    plugin: ListEntry
    updated: bool


@define(eq=False)
class Updater(Pipeline):
    """Updates plugins."""

    _tips: Tips

    def update(
        self,
        plugin_id: str,
        pin: Pin | None = None,
        ref: str | None = None,
        caller: Holder | None = None,
    ) -> Deferred[Updated]:
        """
        Fetch an installed plugin again from the URL it was installed from.

        Who asks for the same that is under way joins it.  Cancelling the Deferred does
        not stop the update.

        :param pin: The tree it has to become; any when it is ``None``.
        :param ref: The page's name for the operation.
        :param caller: Who asks.
        :return: Fails with ``BridgeError`` after everything was rolled back.
        """
        try:
            check_id(plugin_id)
            named = ref_of(ref, Operation.UPDATE, plugin_id, pin)
            subject = (Operation.UPDATE, plugin_id, pin)
            same = self._operations.find(named) or self._operations.under_way(subject)
        except BridgeError as refused:
            return fail(refused)
        if same is not None:
            return same.join()
        return self._operations.run(
            Operation.UPDATE,
            plugin_id,
            lambda running: self._update(running, plugin_id, pin),
            named,
            subject=subject,
            caller=caller,
        )

    async def _update(
        self, running: Running, plugin_id: str, pin: Pin | None
    ) -> Updated:
        await running.hold(self._operations.plugin_lock(plugin_id))
        record = updatable(self._store, plugin_id)
        if plugin_id in self._trees.unsettled:  # what is installed now is not in place
            await self._operations.commit_lock.run(
                ensureDeferred, self._installed.settle()
            )
        if (same := await self._if_same(running, plugin_id, record, pin)) is not None:
            return same
        installed = await self._in_thread(self._trees.manifest, plugin_id)
        version = installed.version if installed else "unknown"
        prompts = self._prompting.prompts
        prompt = prompts.update(plugin_id, record.url, version, record.commit)
        await self._prompting.ask(running, prompt)
        candidate = await self._fetcher.fetch(running, record.url, pin)
        self._refuse_older(plugin_id, candidate, record, installed)
        if candidate.signed.key_id != record.key_id:
            await self._prompting.ask_to_rotate(running, candidate, record.key_id)
        accepted = await self._prompting.ask_for_trust(running, candidate)
        await self._ask_to_grow(running, candidate, record)
        await self._begin_move(running, candidate, accepted)
        return Updated(await self._commit(running, candidate, record), updated=True)

    async def _if_same(
        self, running: Running, plugin_id: str, record: Record, pin: Pin | None
    ) -> Updated | None:
        """Return the answer when nothing is new, and the installed tree is sound."""
        latest = pin.commit if pin else await self._tip(running, record.url)
        if latest != record.commit:
            return None
        sound = await self._in_thread(self._trees.sound_manifest, plugin_id, record)
        return sound and Updated(ListEntry.recorded(sound, record), updated=False)

    async def _tip(self, running: Running, url: str) -> str:
        return await running.until(lambda: Deferred.fromCoroutine(self._tips.tip(url)))

    async def _ask_to_grow(
        self, running: Running, candidate: Candidate, record: Record
    ) -> None:
        """Ask when the new version declares more than the installed one."""
        plugin_id = candidate.manifest.id
        # A changed tree could hide what the new version gains.
        old = await self._in_thread(self._trees.sound_manifest, plugin_id, record)
        await self._prompting.ask_to_grow(running, candidate, old)

    def _refuse_older(
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
        check_same_id(candidate, plugin_id)
        if installed and is_lower(candidate.manifest.version, installed.version):
            raise plugin_error(
                Prefix.DOWNGRADE,
                f"version {candidate.manifest.version} is lower than "
                f"{installed.version}, which is installed; uninstall that first to go "
                "back to it",
            )
        if candidate.signed.signed_at < record.signed_at:
            raise signed_earlier(candidate.signed.signed_at, record.signed_at)
        self._trust.check_mark(plugin_id, candidate.signed)


def updatable(store: Store, plugin_id: str) -> Record:
    """
    Return the record of a plugin that can be updated.

    :raise BridgeError: ``not_installed``, ``reinstall_required`` or ``not_https``.
    """
    record = recorded(store, plugin_id)
    if not record.key_id:
        raise plugin_error(
            Prefix.REINSTALL_REQUIRED,
            f"the record of {plugin_id} names no signing key; uninstall the plugin "
            "and install it again",
        )
    check_url(record.url)
    return record


def check_same_id(candidate: Candidate, plugin_id: str) -> None:
    """
    Check that a repository still holds the plugin that was installed from it.

    :raise BridgeError: ``manifest_invalid``.
    """
    if candidate.manifest.id != plugin_id:
        raise plugin_error(
            Prefix.MANIFEST_INVALID,
            f"id: the repository now holds {candidate.manifest.id}",
        )
