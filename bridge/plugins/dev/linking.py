"""
Linked trees: an author's working trees, in the bundle during development.

::

    plugins/<id>                an installed tree, signed and recorded
    plugins/.tmp-dev-<id>       the copy of a linked one: neither

A linked tree stands for the installed one of its id; nothing of that is changed.
Which trees are linked is only in memory, and a daemon that begins removes their
copies with all that has such a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

from attrs import field
from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger

from ...classes import define, frozen
from ...concurrency.threads import InThread
from ...datadir.paths import LINKED
from ...protocol.errors import Prefix, plugin_error, shutting_down
from ...protocol.text import iso_time
from ...settings.host import HostProfile
from ...store.store import Store
from ..bundle.build import Report
from ..esbuild.executable import BundlerError
from ..installed.records import is_recorded, read_records
from ..installed.trees import LinkedTree, ListEntry, Trees
from ..operations.candidate import Scans
from ..operations.jobs import Jobs
from ..operations.rebuild import EventSink, Rebuild
from ..policy.rules.table import Hit
from ..tree.manifest import Manifest, load_manifest
from ..tree.tree import Tree
from .reading import read_files


class SourcesRefusedError(Exception):
    """
    The source policy refuses a tree.

    :ivar hits: The violations; at least one.
    """

    def __init__(self, hits: list[Hit]) -> None:
        super().__init__(hits)
        self.hits = hits


@frozen
class Linked:
    """
    A linked tree that is now in the bundle.

    :ivar shadows: Whether an installed plugin of this id is left out for it.
    """

    id: str
    name: str
    version: str
    shadows: bool
    report: Report


@frozen(eq=False)
class Linking:
    """
    Links working trees, each through a ``Link`` of its own.

    :ivar now: The time of day, in seconds since the epoch.
    """

    jobs: Jobs
    rebuild: Rebuild
    trees: Trees
    store: Store
    profile: HostProfile
    sink: EventSink
    now: Callable[[], float]
    in_thread: InThread
    scanner: Scans

    _log: ClassVar[Logger] = Logger()

    async def put(self, plugin_id: str, tree: LinkedTree | None) -> None:
        """Replace a tree, and show the pages which plugins there are now."""
        await self.in_thread(self.trees.link, plugin_id, tree)
        records = read_records(self.store)
        self.sink.plugins(await self.in_thread(self.trees.entries, records))

    async def unlink(self, *links: Link) -> None:
        """
        Remove trees from the bundle together, when no update is under way any more.

        However that goes: no later call takes them out.
        """
        released = [await link.release() for link in links]
        ids = [plugin_id for plugin_id in released if plugin_id is not None]
        if not ids:
            return
        async with self.jobs.commit_lock:
            try:
                async with self.rebuild.lock:
                    for plugin_id in ids:
                        await self.put(plugin_id, None)
                    building = self.rebuild.build()
                await building
            finally:
                for plugin_id in ids:
                    self.trees.linked.pop(plugin_id, None)
        for plugin_id in ids:
            self._log.info("{id} is no longer linked", id=plugin_id)


@define(eq=False)
class Link:
    """
    One working tree.

    :ivar ended: Fires when it is linked no more; set once that was asked for.
    """

    _linking: Linking
    _plugin_id: str | None = field(default=None, init=False)
    _lock: DeferredLock = field(factory=DeferredLock, init=False)
    ended: Deferred[None] | None = field(default=None, init=False)

    _log: ClassVar[Logger] = Logger()

    async def update(self, root: Path, names: Iterable[str]) -> Linked:
        """
        Read the tree, validate what was read, and build the bundle with it.

        When it is refused, or the bundle can't be built, nothing changes.

        :param names: The files to read; see ``read_files``.
        :raise BridgeError: It is refused; the prefixes are those of an install.
        :raise SourcesRefusedError: It is refused for its sources.
        """
        async with self._lock:
            if self.ended is not None:
                raise shutting_down()
            tree = Tree(await self._linking.in_thread(read_files, root, names))
            manifest = load_manifest(tree, self._linking.profile)
            await self._scan(tree)
            async with self._linking.jobs.commit_lock:
                return await self._put(tree, manifest)

    async def _scan(self, tree: Tree) -> None:
        try:
            hits = await self._linking.scanner.scan(tree)
        except BundlerError as e:
            raise plugin_error(Prefix.BUILD_FAILED, str(e)) from None
        if hits:
            raise SourcesRefusedError(hits)

    def _check_id(self, plugin_id: str) -> None:
        if self._plugin_id not in (None, plugin_id):
            raise plugin_error(
                Prefix.MANIFEST_INVALID,
                f"id: it was {self._plugin_id} before; end this and start it again",
            )
        if self._plugin_id is None and plugin_id in self._linking.trees.linked:
            raise plugin_error(
                Prefix.ALREADY_INSTALLED,
                f"another plugin-bridge dev links {plugin_id}; end it, and save a file",
            )

    async def _put(self, tree: Tree, manifest: Manifest) -> Linked:
        # Only now, as no other link can change anything.
        self._check_id(manifest.id)
        before = self._linking.trees.linked.get(manifest.id)
        entry = self._entry(manifest, before.entry if before else None)
        report = await self._exchange(manifest.id, LinkedTree(entry, tree))
        self._plugin_id = manifest.id
        self._log.info("{id} is linked and built", id=manifest.id)
        return Linked(
            manifest.id,
            manifest.name,
            manifest.version,
            is_recorded(self._linking.store, manifest.id),
            report,
        )

    def _entry(self, manifest: Manifest, before: ListEntry | None) -> ListEntry:
        now = iso_time(int(self._linking.now() * 1000))
        return ListEntry.of(
            manifest,
            url="",
            commit="",
            installed_at=before.installed_at if before else now,
            updated_at=now,
            key_id="",
            dev=True,
        )

    async def _exchange(self, plugin_id: str, new: LinkedTree) -> Report:
        """Replace the tree and build; if the build fails, undo it."""
        before = self._linking.trees.linked.get(plugin_id)
        built = False
        try:
            report = await self._build_with(plugin_id, new)
            if not report.ok:
                # As its author knows the files.
                why = report.errors[0].replace(_directory(plugin_id), "")
                raise plugin_error(Prefix.BUILD_FAILED, why)
            built = True
        finally:
            if not built and self._linking.trees.linked.get(plugin_id) is not before:
                await self._build_with(plugin_id, before)
        return report

    async def _build_with(self, plugin_id: str, tree: LinkedTree | None) -> Report:
        """Replace the tree while nothing is built, and build."""
        rebuild = self._linking.rebuild
        async with rebuild.lock:
            await self._linking.put(plugin_id, tree)
            building = rebuild.build(*[plugin_id] * (tree is not None))
        return await building

    async def release(self) -> str | None:
        """
        Wait until no update is under way any more.

        :return: The id of the plugin that is linked, which is the caller's from now on.
        """
        await self._lock.run(lambda: None)
        plugin_id, self._plugin_id = self._plugin_id, None
        return plugin_id


def _directory(plugin_id: str) -> str:
    return f"plugins/{LINKED}{plugin_id}/"
