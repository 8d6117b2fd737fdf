"""
The ``plugins`` service: params, results and one-line bodies.

The operations themselves are in ``bridge.plugins``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import define, frozen

from ..approval import IApprover
from ..concurrency.threads import InThread
from ..plugins.bundle.build import Report
from ..plugins.installed.keys import KeyEntry, Trust
from ..plugins.installed.records import read_records
from ..plugins.installed.trees import BrokenPlugin, ListEntry, Trees
from ..plugins.operations.install import Installer
from ..plugins.operations.progress import Progress
from ..plugins.operations.rebuild import Rebuild
from ..plugins.operations.uninstall import KeyRing, Uninstaller
from ..plugins.operations.update import Updater
from ..plugins.upstream.updates import Update, Updates
from ..protocol.limits import (
    CALL_SECONDS,
    PROMPTED_CALL_SECONDS,
    UPDATES_ANSWER_SECONDS,
)
from ..protocol.wire import unstructure
from ..rpc.hub import Event
from ..rpc.registry import Anything, method
from ..store import Store


@frozen
class Source:
    """
    What to install.

    :ivar url: An https URL of at most 512 characters, with a host; no user name,
        query or fragment.
    """

    url: str


@frozen
class Chosen:
    """
    Which plugin.

    :ivar id: 2 to 40 characters: lower-case letters, digits and hyphens.
    """

    id: str


@frozen
class ChosenKey:
    """
    Which key.

    :ivar key_id: Its fingerprint, as ``keys`` lists it.
    """

    key_id: str


@frozen
class Done:
    """Nothing: it is done."""


@frozen
class Installed:
    """
    What was installed, or updated.

    :ivar plugin: Its list entry.
    """

    plugin: ListEntry


@frozen
class Plugins:
    """
    The installed plugins.

    :ivar plugins: List entries, by id.
    :ivar broken: Those that are not built into the bundle.
    """

    plugins: list[ListEntry]
    broken: list[BrokenPlugin]


@frozen
class PluginSet:
    """
    The installed plugins, after a change.

    :ivar plugins: List entries, by id.
    """

    plugins: list[ListEntry]


@frozen
class Outdated:
    """
    The plugins that are behind their repositories.

    :ivar updates: Update entries, by id.
    """

    updates: list[Update]


@frozen
class Keys:
    """
    The accepted keys.

    :ivar keys: The last used first.
    """

    keys: list[KeyEntry]


@frozen
class Pushes:
    """
    Pushes the events of plugins to every page; see ``Audience``.

    :ivar push: ``Hub.push``.
    """

    push: Callable[[str, Any], None]

    def progress(self, progress: Progress) -> None:
        """See ``Audience.progress``."""
        self.push(Event.PROGRESS, unstructure(progress))

    def plugins(self, entries: list[ListEntry]) -> None:
        """See ``Audience.plugins``."""
        self.push(Event.PLUGINS, unstructure(PluginSet(entries)))

    def built(self, report: Report) -> None:
        """See ``Audience.built``."""
        self.push(Event.BUILD, unstructure(report))


@define
class PluginService:
    """
    Clones, verifies and compiles plugins.

    :ivar bundle: Where the bundle is published.
    """

    _installer: Installer
    _updater: Updater
    _uninstaller: Uninstaller
    _key_ring: KeyRing
    _rebuild: Rebuild
    _store: Store
    _trees: Trees
    _trust: Trust
    _approver: IApprover
    _bundle: Path
    _in_thread: InThread
    _updates: Updates

    def describe(self) -> dict[str, Any]:
        """Return where plugins are, and how installing one is confirmed."""
        return {
            "pluginsDir": str(self._trees.directory),
            "bundle": str(self._bundle),
            "confirmation": self._approver.description,
            "signatures": "ed25519, required",
            "installed": sorted(read_records(self._store)),
        }

    @method(Source, Installed, seconds=PROMPTED_CALL_SECONDS)
    async def install(self, params: Source) -> Installed:
        """
        Install a plugin from its repository, after a prompt on the desktop.

        :raise BridgeError: ``bad_request`` with a prefix: ``not_https``, ``denied``,
            ``approval_unavailable``, ``clone_failed``, ``no_manifest``,
            ``manifest_invalid``, ``invalid_id``, ``policy``, ``unsigned``,
            ``already_installed``, ``not_trusted``, ``downgrade`` or ``build_failed``;
            ``unavailable`` when too many operations are under way.
        """
        return Installed(await self._installer.install(params.url))

    @method(Anything, Plugins)
    async def list(self, params: Anything) -> Plugins:
        """List the installed plugins, and why some are not in the bundle."""
        records = read_records(self._store)
        listing = await self._in_thread(self._trees.listing, records)
        return Plugins(listing.plugins, listing.broken)

    @method(Anything, Outdated, seconds=UPDATES_ANSWER_SECONDS + CALL_SECONDS)
    async def check_updates(self, params: Anything) -> Outdated:
        """List the plugins that are behind; slow repositories follow later."""
        return Outdated(await self._updates.check())

    @method(Chosen, Installed, seconds=PROMPTED_CALL_SECONDS)
    async def update(self, params: Chosen) -> Installed:
        """
        Update a plugin from its repository, after a prompt.

        :raise BridgeError: ``bad_request`` with a prefix: ``invalid_id``,
            ``not_installed``, ``reinstall_required``, ``downgrade``, or one of
            ``install``'s; ``unavailable`` when too many operations are under way.
        """
        return Installed(await self._updater.update(params.id))

    @method(Chosen, Done, seconds=PROMPTED_CALL_SECONDS)
    async def uninstall(self, params: Chosen) -> Done:
        """
        Remove a plugin and its settings, after a prompt on the desktop.

        :raise BridgeError: ``bad_request`` with a prefix: ``invalid_id``,
            ``not_installed``, ``denied`` or ``approval_unavailable``; ``unavailable``
            when too many operations are under way.
        """
        await self._uninstaller.uninstall(params.id)
        return Done()

    @method(Anything, Report, seconds=PROMPTED_CALL_SECONDS)
    async def build(self, params: Anything) -> Report:
        """Rebuild the bundle; a failed build is answered with a report, too."""
        return await self._rebuild.run()

    @method(Anything, Keys)
    async def keys(self, params: Anything) -> Keys:
        """List the authors' keys that were accepted."""
        records = read_records(self._store)
        return Keys(self._trust.keys({of: r.key_id for of, r in records.items()}))

    @method(ChosenKey, Done, seconds=PROMPTED_CALL_SECONDS)
    async def forget_key(self, params: ChosenKey) -> Done:
        """
        Accept an author's key no longer, after a prompt; uninstalls nothing.

        :raise BridgeError: ``bad_request`` with a prefix: ``not_trusted``, ``denied``
            or ``approval_unavailable``.
        """
        await self._key_ring.forget(params.key_id)
        return Done()
