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

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from attrs import define, field, frozen
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ...concurrency.threads import InThread
from ...datadir.paths import LINKED
from ...protocol.errors import Prefix, plugin_error
from ...settings.host import HostProfile
from ...store import Store
from ..bundle.build import Report
from ..esbuild.executable import BundlerError
from ..installed.records import is_recorded, read_records
from ..installed.trees import ListEntry, Trees, iso_time
from ..operations.candidate import Scans
from ..operations.rebuild import Rebuild
from ..operations.underway.operations import Operations
from ..operations.underway.progress import Audience
from ..policy.hits import Hit
from ..tree.manifest import Manifest, load_manifest
from ..tree.tree import Tree, read_tree
from .copying import copy_files


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
    """Links working trees, each through a ``LinkedTree`` of its own."""

    operations: Operations
    rebuild: Rebuild
    trees: Trees
    store: Store
    profile: HostProfile
    audience: Audience
    clock: IReactorTime
    in_thread: InThread
    scanner: Scans

    def begin(self) -> LinkedTree:
        """Return a link without a tree."""
        return LinkedTree(self)


@define(eq=False)
class _Replacement:
    """Replaces a plugin's linked tree, and undoes that."""

    linking: Linking
    plugin_id: str
    copy: Path | None
    entry: ListEntry | None
    aside: Path | None
    entry_before: ListEntry | None
    done: bool = field(default=False, init=False)

    async def do(self) -> None:
        """Put the new tree in place."""
        await self._set(self.copy, self.aside, self.entry)

    async def undo(self) -> None:
        """Restore the previous tree."""
        await self._set(self.aside, self.copy, self.entry_before)

    async def _set(
        self, copy: Path | None, aside: Path | None, entry: ListEntry | None
    ) -> None:
        trees = self.linking.trees
        await self.linking.in_thread(trees.exchange_linked, self.plugin_id, copy, aside)
        self.done = True
        if entry is None:
            trees.linked.pop(self.plugin_id, None)
        else:
            trees.linked[self.plugin_id] = entry
        records = read_records(self.linking.store)
        entries = await self.linking.in_thread(trees.entries, records)
        self.linking.audience.plugins(entries)


@define(eq=False)
class LinkedTree:
    """
    One working tree.

    The caller waits for each call before the next, and calls ``end`` last.
    """

    _linking: Linking
    _plugin_id: str | None = field(default=None, init=False)

    _log: ClassVar[Logger] = Logger()

    async def update(self, root: Path, names: Iterable[str]) -> Linked:
        """
        Copy the tree, validate the copy, and build the bundle with it.

        When it is refused, or the bundle can't be built, nothing changes.

        :param names: The files to copy; see ``copy_files``.
        :raise BridgeError: It is refused; the prefixes are those of an install.
        :raise SourcesRefusedError: It is refused for its sources.
        """
        trees = self._linking.trees
        copy = trees.fresh()
        try:
            tree = await self._linking.in_thread(self._copy, root, names, copy)
            manifest = load_manifest(tree, self._linking.profile)
            await self._scan(tree)
            self._check_id(manifest.id)
            await self._linking.operations.commit_lock.acquire()
            try:
                return await self._put(copy, manifest)
            finally:
                self._linking.operations.commit_lock.release()
        finally:
            await self._linking.in_thread(trees.remove, copy)

    def _copy(self, root: Path, names: Iterable[str], copy: Path) -> Tree:
        copy_files(root, names, copy)
        return read_tree(copy)

    async def _scan(self, tree: Tree) -> None:
        modules = [self._linking.profile.api_module]
        try:
            hits = await self._linking.scanner.scan(tree, modules)
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
                Prefix.ALREADY_INSTALLED, f"another plugin-bridge dev links {plugin_id}"
            )

    async def _put(self, copy: Path, manifest: Manifest) -> Linked:
        # Again, now that nobody else can link anything.
        self._check_id(manifest.id)
        before = self._linking.trees.linked.get(manifest.id)
        report = await self._exchange(
            manifest.id, copy, self._entry(manifest, before), before
        )
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
        now = iso_time(int(self._linking.clock.seconds() * 1000))
        return ListEntry.of(
            manifest,
            url="",
            commit="",
            installed_at=before.installed_at if before else now,
            updated_at=now,
            key_id="",
            dev=True,
        )

    async def _exchange(
        self,
        plugin_id: str,
        copy: Path | None,
        entry: ListEntry | None,
        before: ListEntry | None,
    ) -> Report:
        """Replace the tree and build; if the build fails, undo it."""
        trees, rebuild = self._linking.trees, self._linking.rebuild
        aside = trees.fresh() if before is not None else None
        exchange = _Replacement(self._linking, plugin_id, copy, entry, aside, before)
        built = False
        try:
            report = await rebuild.build(before=exchange.do)
            if not report.has(plugin_id) and copy is not None:
                # As its author knows the files.
                why = report.why_not(plugin_id).replace(_directory(plugin_id), "")
                raise plugin_error(Prefix.BUILD_FAILED, why)
            built = True
        finally:
            if exchange.done and not built:
                await rebuild.build(before=exchange.undo)
            if aside is not None:
                await self._linking.in_thread(trees.remove, aside)
        return report

    async def end(self) -> None:
        """Remove the tree from the bundle."""
        if self._plugin_id is None:
            return
        plugin_id, self._plugin_id = self._plugin_id, None
        await self._linking.operations.commit_lock.acquire()
        try:
            before = self._linking.trees.linked[plugin_id]
            report = await self._exchange(plugin_id, None, None, before)
        finally:
            # However that went: nobody will take it out later.
            self._linking.trees.linked.pop(plugin_id, None)
            self._linking.operations.commit_lock.release()
        for line in report.errors:
            self._log.warn("without {id}: {line}", id=plugin_id, line=line)
        self._log.info("{id} is no longer linked", id=plugin_id)


def _directory(plugin_id: str) -> str:
    return f"plugins/{LINKED}{plugin_id}/"
