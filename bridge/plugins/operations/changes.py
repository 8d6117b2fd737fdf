"""
Installing, updating and uninstalling plugins: each completely, or not at all.

An install and an update go the same way, from a question to the user to one commit.
"""

from __future__ import annotations

from twisted.internet.defer import ensureDeferred

from ...classes import define, frozen
from ...concurrency.threads import InThread
from ...protocol.errors import Prefix, plugin_error
from ...protocol.steps import Operation, Step
from ...store.state import Edit, Remove
from ...store.store import Store
from ..clone.server import check_url
from ..installed.exchange import Exchange
from ..installed.records import (
    Record,
    Trust,
    check_signed,
    former,
    is_recorded,
    recorded,
    removal,
    settings_namespace,
    signed_earlier,
)
from ..installed.trees import ListEntry, Trees
from ..tree.manifest import Manifest
from ..tree.versions import is_lower
from .candidate import Candidate, CandidateFetcher, Pin
from .jobs import Job, Jobs
from .prompting import Prompting
from .settlement import InstalledSet


@frozen
class InstallResult:
    """
    What was installed.

    :ivar plugin: Its list entry.
    """

    plugin: ListEntry


@frozen
class UpdateResult:
    """
    What an update came to.

    :ivar plugin: The plugin's list entry.
    :ivar updated: Whether anything was new; if not, nothing was asked or changed.
    """

    plugin: ListEntry
    updated: bool


@define(eq=False)
class PluginOperations:
    """
    What operations on plugins have in common.

    :ivar in_thread: Where trees are read.
    """

    _jobs: Jobs
    _prompting: Prompting
    _fetcher: CandidateFetcher
    _trust: Trust
    _store: Store
    _trees: Trees
    _in_thread: InThread

    def _updatable(self, plugin_id: str) -> Record:
        """
        Return the record of a plugin that can be updated.

        :raise BridgeError: ``not_installed``, ``reinstall_required`` or ``not_https``.
        """
        record = recorded(self._store, plugin_id)
        check_signed(record)
        check_url(record.url)
        return record


@define(eq=False)
class PluginChanges(PluginOperations):
    """
    Changes which plugins are installed, and whose keys are accepted.

    Each method is the body of an operation; see ``Jobs.run``.  When it fails,
    everything was rolled back.
    """

    _installed: InstalledSet

    async def install(self, job: Job, url: str, pin: Pin | None) -> InstallResult:
        """
        Install the plugin at ``url``.

        :param url: Already checked.
        :param pin: The tree it has to be; any when it is ``None``.
        """
        kept = self._fetcher.kept(url, pin)
        shown = None if kept is None else kept.manifest
        if shown is not None:
            await self._refuse_installed(shown.id, url)
        directory = str(self._trees.directory)
        await self._prompting.ask_to_install(job, url, directory, shown)
        candidate = await self._fetcher.fetch(job, url, pin)
        plugin_id = candidate.manifest.id
        await job.hold(self._jobs.plugin_lock(plugin_id))
        lost = await self._refuse_installed(plugin_id, url)
        self._installed.refuse_linked(plugin_id)
        if lost is None:
            self._trust.check_mark(plugin_id, candidate.signed)
        else:
            self._refuse_older(plugin_id, candidate, lost, None)
            await self._prompting.ask_to_rotate(job, candidate, lost.key_id)
        is_known = shown is not None
        accepted = await self._prompting.ask_for_trust(
            job, candidate, is_known=is_known
        )
        if not (accepted or is_known):
            await self._prompting.ask_for_permissions(job, candidate)
        await self._begin_move(job, candidate, accepted)
        lost = await self._refuse_installed(plugin_id, url)
        return InstallResult(await self._commit(job, candidate, lost))

    async def _refuse_installed(self, plugin_id: str, url: str) -> Record | None:
        """
        Check that an install would replace nothing.

        :return: The record of one from this URL whose tree is gone: it is restored.
        :raise BridgeError: ``already_installed``.
        """
        in_place = await self._in_thread(self._trees.has, plugin_id)
        if is_recorded(self._store, plugin_id):
            record = recorded(self._store, plugin_id)
            if record.url == url and not in_place:
                return record
            raise plugin_error(
                Prefix.ALREADY_INSTALLED,
                f"{plugin_id} is installed; update or uninstall it",
            )
        # What an earlier operation has left is taken away before the move.
        if in_place and plugin_id not in self._trees.unsettled:
            raise plugin_error(
                Prefix.ALREADY_INSTALLED,
                f"{plugin_id} has a directory but no record; plugin-bridge doctor "
                "shows how to fix it",
            )
        return None

    async def update(self, job: Job, plugin_id: str, pin: Pin | None) -> UpdateResult:
        """
        Fetch an installed plugin again from the URL it was installed from.

        :param pin: The tree it has to become; any when it is ``None``.
        """
        await job.hold(self._jobs.plugin_lock(plugin_id))
        record = self._updatable(plugin_id)
        if plugin_id in self._trees.unsettled:  # what is installed now is not in place
            await self._jobs.commit_lock.run(ensureDeferred, self._installed.settle())
        latest = pin and pin.commit
        if latest is None:
            latest = await job.until(lambda: self._fetcher.remotes.tip(record.url))
        if latest == record.commit:
            same = await self._in_thread(self._trees.sound_manifest, plugin_id, record)
            if same is not None:
                return UpdateResult(self._entry(same, record), updated=False)
        self._installed.refuse_linked(plugin_id)
        installed = await self._in_thread(self._trees.entry, plugin_id, record)
        version = installed.version if installed else "unknown"
        of = record.url, version, record.commit
        await self._prompting.ask_to_update(job, plugin_id, *of)
        candidate = await self._fetcher.fetch(job, record.url, pin)
        self._refuse_older(plugin_id, candidate, record, installed)
        await self._prompting.ask_to_rotate(job, candidate, record.key_id)
        accepted = await self._prompting.ask_for_trust(job, candidate)
        # A changed tree could hide what the new version gains.
        old = await self._in_thread(self._trees.sound_manifest, plugin_id, record)
        await self._prompting.ask_to_grow(job, candidate, old)
        await self._begin_move(job, candidate, accepted)
        return UpdateResult(await self._commit(job, candidate, record), updated=True)

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

    async def _begin_move(self, job: Job, candidate: Candidate, accepted: bool) -> None:
        """
        Wait for the turn to change the set, in which the key must still be trusted.

        :param accepted: The result of ``ask_for_trust``.
        """
        await self._installed.begin(job)
        if not (accepted or self._trust.is_trusted(candidate.signed.key_id)):
            why = "the author's key was forgotten meanwhile"
            raise plugin_error(Prefix.NOT_TRUSTED, why)
        job.reached(Step.MOVE, f"Putting {candidate.manifest.id} in place")

    async def _commit(
        self, job: Job, candidate: Candidate, replaced: Record | None
    ) -> ListEntry:
        """
        Replace the tree and the record of a plugin, and build with the new ones.

        :param replaced: The record of the tree in place, or that was there; ``None``
            without one, when there must be no tree either.
        :return: The plugin's list entry.
        """
        plugin_id = candidate.manifest.id
        now = self._jobs.now_ms()
        record = _record(candidate, replaced, now)
        edits = [
            record.put(plugin_id),
            *self._trust.acceptance(plugin_id, candidate.url, candidate.signed, now),
        ]
        settings = settings_namespace(plugin_id)
        changed: list[Edit] = [*edits]
        # The settings that the plugin makes from now on.  Existing ones are the user's.
        if replaced is None and not self._store.entries(settings):
            changed.append(Remove(settings))
        exchange = Exchange(
            job.request.op,
            plugin_id,
            candidate.root.name,
            await self._in_thread(self._trees.aside, plugin_id) if replaced else None,
            record.fields(),
            former(self._store, changed),
        )
        await self._installed.change(job, exchange, edits)
        return self._entry(candidate.manifest, record)

    def _entry(self, manifest: Manifest, record: Record) -> ListEntry:
        return ListEntry.recorded(manifest, record).with_trust(self._trust)

    async def uninstall(self, job: Job, plugin_id: str) -> None:
        """
        Remove a plugin, however damaged, and its settings; its marks stay.

        It is removed even if the bundle could not be built.
        """
        await job.hold(self._jobs.plugin_lock(plugin_id))
        record = recorded(self._store, plugin_id)
        await self._prompting.ask_to_uninstall(job, plugin_id, record.url)
        await self._installed.begin(job)
        job.reached(Step.REMOVE, f"Removing {plugin_id}")
        aside = await self._in_thread(self._trees.aside, plugin_id)
        exchange = Exchange(Operation.UNINSTALL, plugin_id, None, aside, None)
        await self._installed.change(job, exchange, removal(plugin_id))

    async def forget_key(self, job: Job, key_id: str) -> None:
        """
        Stop accepting a key; nothing is uninstalled.

        When it fails, the key is accepted as before, or its durability is not known.
        """
        self._trust.forgetting(key_id)
        await self._prompting.ask_to_forget(job, key_id)
        await job.hold(self._jobs.commit_lock)
        job.commit()
        await self._store.commit(self._trust.forgetting(key_id))


def _record(candidate: Candidate, replaced: Record | None, now_ms: int) -> Record:
    installed_at = updated_at = now_ms
    if replaced is not None:
        installed_at = replaced.installed_at
        # Always another value: the two sets are distinguished by their records.
        updated_at = now_ms + (now_ms == replaced.updated_at)
    return Record(
        url=candidate.url,
        commit=candidate.commit,
        key_id=candidate.signed.key_id,
        signed_at=candidate.signed.signed_at,
        installed_at=installed_at,
        updated_at=updated_at,
    )


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
