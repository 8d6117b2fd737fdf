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

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from attrs import field
from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.logger import Logger

from ...classes import define, frozen
from ...concurrency.shares import Holder
from ...datadir.paths import LINKED
from ...protocol import limits
from ...protocol.errors import Prefix, plugin_error, shutting_down, unavailable
from ...protocol.text import iso_time
from ..bundle.build import Report
from ..clone.bounds import read_files
from ..installed.records import is_recorded
from ..installed.trees import LinkedTree, ListEntry
from ..operations.settlement import BuiltSet
from ..policy.rules.table import Hit
from ..policy.scan import Scanner, refuse
from ..tree.manifest import Manifest, load_manifest
from ..tree.tree import Tree


@frozen
class Linked:
    """
    A linked tree that is now in the bundle.

    :ivar shadows: Whether an installed plugin of this id is left out for it.
    """

    id: str
    version: str
    shadows: bool
    report: Report


@define(eq=False)
class Linking(BuiltSet):
    """
    Links working trees: one for each command, until that has gone.

    :ivar _commands: Those that may link a tree.
    """

    _scanner: Scanner
    _commands: set[Holder] = field(factory=set, init=False)
    _scans: dict[Holder, Deferred[list[Hit]]] = field(factory=dict, init=False)
    _turn: DeferredLock = field(factory=DeferredLock, init=False)
    _closed: bool = field(default=False, init=False)

    _log: ClassVar[Logger] = Logger()

    def admit(self, command: Holder) -> None:
        """
        Let a command link a tree.

        :raise BridgeError: ``unavailable``: too many are linked, or the daemon ends.
        """
        if self._closed:
            raise shutting_down()
        if command in self._commands:
            return
        if len(self._commands) >= limits.DEV_LINKS:
            why = f"{limits.DEV_LINKS} trees are linked; end one of them first"
            raise unavailable(why)
        self._commands.add(command)
        command.on_close(self._gone)

    async def update(self, command: Holder, root: Path, names: Iterable[str]) -> Linked:
        """
        Read a tree, validate what was read, and build the bundle with it.

        When it is refused, or the bundle can't be built, nothing changes.

        :param command: One that was admitted.
        :param names: The files to read; see ``read_files``.
        :raise BridgeError: It is refused; the prefixes are those of an install.
        """
        async with self._turn:
            if command not in self._commands:
                raise shutting_down()
            tree = Tree(await self._in_thread(read_files, root, names))
            manifest = load_manifest(tree, self._trees.profile)
            await refuse(self._scan(command, tree))
            async with self._jobs.commit_lock:
                return await self._link(command, tree, manifest)

    async def _scan(self, command: Holder, tree: Tree) -> list[Hit]:
        scan = Deferred.fromCoroutine(self._scanner.scan(tree))
        self._scans[command] = scan
        try:
            return await scan
        except CancelledError:
            raise shutting_down() from None
        finally:
            del self._scans[command]

    async def _link(self, command: Holder, tree: Tree, manifest: Manifest) -> Linked:
        self._check_id(command, manifest.id)
        before = self._trees.linked.get(manifest.id)
        entry = self._entry(manifest, before.entry if before else None)
        report = await self._exchange(manifest.id, LinkedTree(entry, tree, command))
        self._log.info("{id} is linked and built", id=manifest.id)
        shadows = is_recorded(self._store, manifest.id)
        return Linked(manifest.id, manifest.version, shadows, report)

    def _check_id(self, command: Holder, plugin_id: str) -> None:
        for other, linked in self._trees.linked.items():
            if linked.command is command and other != plugin_id:
                raise plugin_error(
                    Prefix.MANIFEST_INVALID,
                    f"id: it was {other} before; end this and start it again",
                )
            if linked.command is not command and other == plugin_id:
                raise plugin_error(
                    Prefix.ALREADY_INSTALLED,
                    f"another plugin-bridge dev links {plugin_id}; end it, and save a "
                    "file",
                )

    def _entry(self, manifest: Manifest, before: ListEntry | None) -> ListEntry:
        now = iso_time(self._jobs.now_ms())
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
        before = self._trees.linked.get(plugin_id)
        built = False
        try:
            report = await self._build_with({plugin_id: new})
            if not report.ok:
                # As its author knows the files.
                why = report.errors[0].replace(f"plugins/{LINKED}{plugin_id}/", "")
                raise plugin_error(Prefix.BUILD_FAILED, why)
            built = True
        finally:
            if not built and self._trees.linked.get(plugin_id) is not before:
                await self._build_with({plugin_id: before})
        return report

    async def _build_with(self, trees: Mapping[str, LinkedTree | None]) -> Report:
        """Replace trees, and build; with the commit lock."""
        for plugin_id, tree in trees.items():
            await self._in_thread(self._trees.link, plugin_id, tree)
            await self._push_entries()
        return await self._rebuild.build(*(one for one in trees if trees[one]))

    def _gone(self, command: Holder) -> None:
        self._commands.discard(command)
        Deferred.fromCoroutine(self._unlink())

    def close(self) -> Deferred[None]:
        """
        Remove every linked tree from the bundle, by one build.

        :return: Fires when nothing is linked any more.
        """
        self._closed = True
        self._commands.clear()
        return Deferred.fromCoroutine(self._unlink())

    async def _unlink(self) -> None:
        """
        Remove the trees of commands that have gone, when no update is under way.

        However that goes: no later call takes them out.  A scan for them ends at once.
        """
        for command in self._scans.keys() - self._commands:
            self._scans[command].cancel()
        async with self._turn:
            linked = self._trees.linked.items()
            ids = [one for one, tree in linked if tree.command not in self._commands]
            if not ids:
                return
            async with self._jobs.commit_lock:
                try:
                    await self._build_with(dict.fromkeys(ids))
                except Exception:  # noqa: BLE001
                    self._log.failure("could not unlink a plugin")
                for plugin_id in ids:
                    self._trees.linked.pop(plugin_id, None)
                    self._log.info("{id} is no longer linked", id=plugin_id)
