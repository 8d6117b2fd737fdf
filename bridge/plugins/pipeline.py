"""Installing a plugin: in seven steps, all or nothing."""

from __future__ import annotations

from typing import Any

from attrs import define, field
from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IReactorTime

from ..approval import Operation
from ..protocol.errors import BridgeError, Code, Prefix, plugin_error
from ..store import Drop, Store
from ..threads import InThread
from .candidate import Candidate, Fetcher
from .change import Change
from .exchange import Exchange
from .operations import Operations, Running
from .progress import Step
from .prompting import Prompting
from .records import Record, former, is_recorded, settings_namespace
from .trees import Trees
from .trust import Trust
from .urls import check_url


@define(eq=False)
class Installer:
    """Installs plugins."""

    _operations: Operations
    _prompting: Prompting
    _fetcher: Fetcher
    _change: Change
    _trust: Trust
    _store: Store
    _trees: Trees
    _clock: IReactorTime
    _in_thread: InThread
    _urls: set[str] = field(factory=set)

    def install(self, url: str) -> Deferred[dict[str, Any]]:
        """
        Install the plugin at ``url``.

        It goes on when the answer is cancelled.

        :return: Fires with the plugin's list entry; fails with ``BridgeError``
            when nothing of it is left.
        """
        try:
            check_url(url)
        except BridgeError as refused:
            return fail(refused)
        if url in self._urls:
            return fail(
                BridgeError(
                    Code.BAD_REQUEST,
                    "an install from this URL is under way already; wait for it to end",
                )
            )

        async def body(running: Running) -> dict[str, Any]:
            self._urls.add(url)
            try:
                return await self._install(running, url)
            finally:
                self._urls.remove(url)

        return self._operations.run(Operation.INSTALL, None, body)

    async def _install(self, running: Running, url: str) -> dict[str, Any]:
        prompts = self._prompting.prompts
        prompt = prompts.install(url, str(self._trees.directory))
        await self._prompting.ask(running, prompt)
        candidate = await self._fetcher.fetch(running, url)
        await running.hold(self._operations.plugin_lock(candidate.manifest.id))
        await self._refuse_installed(candidate.manifest.id)
        self._trust.check_mark(candidate.manifest.id, candidate.signed)
        accepted = await self._prompting.ask_for_trust(running, candidate)
        await running.hold(self._operations.commit_lock)
        running.commit()
        await self._change.settle_earlier(running)
        self._prompting.check_trust(candidate, accepted)
        return await self._commit(running, candidate)

    async def _refuse_installed(self, plugin_id: str) -> None:
        there = await self._in_thread(self._trees.has, plugin_id)
        recorded = is_recorded(self._store, plugin_id)
        if there and not recorded:
            raise plugin_error(
                Prefix.ALREADY_INSTALLED,
                f"{plugin_id} has a directory, and no record; plugin-bridge doctor "
                "says what mends it",
            )
        if recorded:
            raise plugin_error(
                Prefix.ALREADY_INSTALLED,
                f"{plugin_id} is installed; uninstall it first",
            )

    async def _commit(self, running: Running, candidate: Candidate) -> dict[str, Any]:
        plugin_id, signed = candidate.manifest.id, candidate.signed
        running.reached(Step.MOVE, f"Putting {plugin_id} in place")
        await self._refuse_installed(plugin_id)
        now = int(self._clock.seconds() * 1000)
        record = Record(
            url=candidate.url,
            commit=candidate.commit,
            key_id=signed.key_id,
            signed_at=signed.signed_at,
            installed_at=now,
            updated_at=now,
        )
        trusted = self._trust.acceptance(plugin_id, candidate.url, signed, now)
        edits = [record.put(plugin_id), *trusted]
        settings = settings_namespace(plugin_id)
        # Those there are already are somebody's, and stay.
        fresh = [] if self._store.entries(settings) else [Drop(settings)]
        exchange = Exchange(
            Operation.INSTALL,
            plugin_id,
            candidate.root.name,
            None,
            record.fields(),
            former(self._store, [*edits, *fresh]),
        )
        return await self._change.carry_out(running, exchange, record, edits)
