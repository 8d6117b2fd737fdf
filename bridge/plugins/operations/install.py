"""Installing a plugin: seven steps, applied completely or not at all."""

from __future__ import annotations

from twisted.internet.defer import Deferred, fail

from ...approval import Operation
from ...classes import define
from ...concurrency.shares import Holder
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ..clone.urls import check_url
from ..installed.records import is_recorded
from ..installed.trees import ListEntry
from .kept import Pin
from .pipeline import Pipeline
from .underway.running import Running, ref_of


@define(eq=False)
class Installer(Pipeline):
    """Installs plugins."""

    def install(
        self,
        url: str,
        pin: Pin | None = None,
        ref: str | None = None,
        caller: Holder | None = None,
    ) -> Deferred[ListEntry]:
        """
        Install the plugin at ``url``.

        Cancelling the Deferred does not stop the install.

        :param pin: The tree it has to be; any when it is ``None``.
        :param ref: The page's name for the operation.
        :param caller: Who asks.
        :return: Fires with the plugin's list entry; fails with ``BridgeError`` after
            everything was rolled back.
        """
        try:
            check_url(url)
            named = ref_of(ref, Operation.INSTALL, url, pin)
            joined = self._operations.find(named)
        except BridgeError as refused:
            return fail(refused)
        if joined is not None:
            return joined.join()
        subject = (Operation.INSTALL, url)
        if self._operations.under_way(subject) is not None:
            why = "an install from this URL is already under way; wait for it to end"
            return fail(plugin_error(Prefix.BUSY, why))
        return self._operations.run(
            Operation.INSTALL,
            None,
            lambda running: self._install(running, url, pin),
            named,
            subject=subject,
            caller=caller,
        )

    async def _install(self, running: Running, url: str, pin: Pin | None) -> ListEntry:
        shown = self._fetcher.previewed(url, pin)
        directory = str(self._trees.directory)
        await self._prompting.ask_to_install(running, url, directory, shown)
        candidate = await self._fetcher.fetch(running, url, pin)
        await running.hold(self._operations.plugin_lock(candidate.manifest.id))
        await self._refuse_installed(candidate.manifest.id)
        self._trust.check_mark(candidate.manifest.id, candidate.signed)
        is_known = shown is not None
        accepted = await self._prompting.ask_for_trust(
            running, candidate, is_known=is_known
        )
        if not (accepted or is_known):
            await self._prompting.ask_for_permissions(running, candidate)
        await self._begin_move(running, candidate, accepted)
        await self._refuse_installed(candidate.manifest.id)
        return await self._commit(running, candidate, None)

    async def _refuse_installed(self, plugin_id: str) -> None:
        in_place = await self._in_thread(self._trees.has, plugin_id)
        recorded = is_recorded(self._store, plugin_id)
        if plugin_id in self._trees.unsettled and not recorded:
            return  # what an earlier operation has left is taken away before the move
        if in_place and not recorded:
            raise plugin_error(
                Prefix.ALREADY_INSTALLED,
                f"{plugin_id} has a directory but no record; plugin-bridge doctor "
                "shows how to fix it",
            )
        if recorded:
            raise plugin_error(
                Prefix.ALREADY_INSTALLED,
                f"{plugin_id} is installed; uninstall it first",
            )
