"""
The ``dev`` service: an author's working trees, in the bundle during development.

Only with ``--dev``, and only over the control socket: it is in no registry that a page
reaches.

::

    plugins/<id>                an installed tree, signed and recorded
    plugins/.tmp-dev-<id>       the copy of a linked one: neither

A linked tree stands for the installed one of its id; nothing of that is changed.
Which trees are linked is only in memory, and a daemon that begins removes their
copies with all that has such a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from attrs import field
from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.logger import Logger

from ..classes import define, frozen
from ..concurrency.shares import Holder
from ..datadir.paths import LINKED
from ..plugins.bundle.build import Report
from ..plugins.clone.files import read_files
from ..plugins.installed.records import is_recorded
from ..plugins.installed.trees import LinkedTree, ListEntry
from ..plugins.operations.jobs import reason
from ..plugins.operations.settlement import BuiltSet
from ..plugins.policy.rules import Hit
from ..plugins.policy.scan import Scanner, SourcesRefusedError, refuse
from ..plugins.tree.manifest import Manifest, load_manifest
from ..plugins.tree.tree import Tree
from ..protocol import limits
from ..protocol.errors import (
    BridgeError,
    Prefix,
    plugin_error,
    shutting_down,
    unavailable,
)
from ..protocol.text import iso_time
from ..protocol.wire import entries, string
from ..rpc import Caller, method

_File = Annotated[str, string(limits.TREE_PATH_BYTES, like=r"(?s)[^\0]*", least=1)]


@frozen
class WorkTree:
    """
    A tree to be linked.

    :ivar directory: Its absolute path.
    :ivar files: Relative paths with ``/``; one may be the signature, which a tree does
        not count.
    """

    directory: Annotated[
        str, string(limits.DEV_DIRECTORY_CHARACTERS, like=r"(?s)/[^\0]*", least=1)
    ]
    files: Annotated[list[_File], entries(limits.DEV_FILES, unique=True)]


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


@frozen
class LinkResult:
    """
    What became of a tree.

    :ivar linked: The plugin, now in the bundle; not there when it was refused, and the
        tree before it stays linked.
    :ivar message: Why it was refused; a prefix, and a sentence.
    :ivar hits: Each violation of the source policy.
    """

    linked: Linked | None = None
    message: str = ""
    hits: list[Hit] = field(factory=list)


@define(eq=False)
class DevLinks(BuiltSet):
    """
    Puts working trees into the bundle, each for as long as its caller is there.

    :ivar _commands: Those that may link a tree.
    """

    _scanner: Scanner
    _commands: set[Holder] = field(factory=set, init=False)
    _scans: dict[Holder, Deferred[list[Hit]]] = field(factory=dict, init=False)
    _turn: DeferredLock = field(factory=DeferredLock, init=False)
    _closed: bool = field(default=False, init=False)

    _log: ClassVar[Logger] = Logger()

    @method(WorkTree, LinkResult)
    async def link(self, tree: WorkTree, caller: Caller) -> LinkResult:
        """
        Put a working tree into the bundle, instead of the caller's one before.

        :raise BridgeError: ``unavailable``: too many are linked, or the daemon ends.
        """
        self._admit(caller)
        try:
            return LinkResult(await self._update(caller, tree))
        except SourcesRefusedError as e:
            return LinkResult(message=e.message, hits=e.hits)
        except BridgeError as e:
            return LinkResult(message=e.message)
        except OSError as e:
            why = reason(e)
            if why is None:
                raise
            return LinkResult(message=f"{Prefix.CLONE_FAILED}: {why}")

    def _admit(self, command: Holder) -> None:
        """Let a command link a tree."""
        if self._closed:
            raise shutting_down()
        if command in self._commands:
            return
        if len(self._commands) >= limits.DEV_LINKS:
            why = f"{limits.DEV_LINKS} trees are linked; end one of them first"
            raise unavailable(why)
        self._commands.add(command)
        command.on_close(self._gone)

    async def _update(self, command: Holder, work: WorkTree) -> Linked:
        """
        Read a tree, validate what was read, and build the bundle with it.

        When it is refused, or the bundle can't be built, nothing changes.

        :param command: One that was admitted.
        :raise BridgeError: It is refused; the prefixes are those of an install.
        """
        async with self._turn:
            if command not in self._commands:
                raise shutting_down()
            directory = Path(work.directory)
            tree = Tree(await self._in_thread(read_files, directory, work.files))
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
        plugin_id = manifest.id
        self._check_id(command, plugin_id)
        before = self._trees.linked.get(plugin_id)
        now = iso_time(self._jobs.now_ms())
        entry = ListEntry.of(
            manifest,
            url="",
            commit="",
            installed_at=before.entry.installed_at if before else now,
            updated_at=now,
            key_id="",
            dev=True,
        )
        report = await self._exchange(plugin_id, LinkedTree(entry, tree, command))
        self._log.info("{id} is linked and built", id=plugin_id)
        shadows = is_recorded(self._store, plugin_id)
        return Linked(plugin_id, manifest.version, shadows, report)

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
