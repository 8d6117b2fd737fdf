"""Uninstalling a plugin, and forgetting a key."""

from __future__ import annotations

from twisted.internet.defer import Deferred, fail

from ...approval import Operation
from ...classes import define
from ...concurrency.shares import Holder
from ...concurrency.threads import InThread
from ...protocol.errors import BridgeError
from ...protocol.steps import Step
from ...store import Drop, Edit, Remove, Store
from ..installed.exchange import Exchange
from ..installed.ids import RECORDS
from ..installed.keys import Trust
from ..installed.records import recorded, settings_namespace
from ..installed.trees import Trees
from ..tree.manifest import check_id
from .prompting import Prompting
from .settlement import InstalledSet
from .underway.operations import Operations
from .underway.running import Running, ref_of


@define(eq=False)
class Uninstaller:
    """Uninstalls plugins."""

    _operations: Operations
    _prompting: Prompting
    _installed: InstalledSet
    _store: Store
    _trees: Trees
    _in_thread: InThread

    def uninstall(
        self,
        plugin_id: str,
        ref: str | None = None,
        caller: Holder | None = None,
    ) -> Deferred[None]:
        """
        Remove a plugin, however damaged, and its settings; its marks stay.

        Cancelling the Deferred does not stop it.

        :param ref: The page's name for the operation.
        :param caller: Who asks.
        :return: Fires when it is removed, even if the bundle could not be built;
            fails with ``BridgeError`` after everything was rolled back.
        """
        try:
            check_id(plugin_id)
            named = ref_of(ref, Operation.UNINSTALL, plugin_id)
        except BridgeError as refused:
            return fail(refused)
        return self._operations.run(
            Operation.UNINSTALL,
            plugin_id,
            lambda running: self._uninstall(running, plugin_id),
            named,
            caller=caller,
        )

    async def _uninstall(self, running: Running, plugin_id: str) -> None:
        await running.hold(self._operations.plugin_lock(plugin_id))
        record = recorded(self._store, plugin_id)
        prompt = self._prompting.prompts.uninstall(plugin_id, record.url)
        await self._prompting.ask(running, prompt)
        await self._installed.begin(running, self._operations.commit_lock)
        running.reached(Step.REMOVE, f"Removing {plugin_id}")
        aside = await self._in_thread(self._trees.aside, plugin_id)
        exchange = Exchange(Operation.UNINSTALL, plugin_id, None, aside, None)
        settings = settings_namespace(plugin_id)
        edits: list[Edit] = [Remove(RECORDS, plugin_id), Drop(settings)]
        await self._installed.change(running, exchange, edits)


@define(eq=False)
class KeyRing:
    """Forgets keys."""

    _operations: Operations
    _prompting: Prompting
    _store: Store
    _trust: Trust

    def forget(
        self,
        key_id: str,
        ref: str | None = None,
        caller: Holder | None = None,
    ) -> Deferred[None]:
        """
        Stop accepting a key; nothing is uninstalled.

        :param ref: The page's name for the operation.
        :param caller: Who asks.
        :return: Fires when that is durable; fails with ``BridgeError`` when the key
            is accepted as before, or when the durability is not known.
        """
        return self._operations.run(
            Operation.FORGET_KEY,
            None,
            lambda running: self._forget(running, key_id),
            ref_of(ref, Operation.FORGET_KEY, key_id),
            caller=caller,
        )

    async def _forget(self, running: Running, key_id: str) -> None:
        self._trust.forgetting(key_id)
        prompt = self._prompting.prompts.forget_key(key_id, self._trust.label(key_id))
        await self._prompting.ask(running, prompt)
        await running.hold(self._operations.commit_lock)
        running.commit()
        await self._store.commit(self._trust.forgetting(key_id))
