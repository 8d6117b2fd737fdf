"""
The installed trees, and the clones that may become one.

Everything here blocks; the caller runs it in a thread.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from attrs import asdict, evolve, field
from twisted.internet.defer import DeferredLock
from twisted.logger import Logger

from ...classes import define, frozen
from ...concurrency.shares import Holder
from ...datadir.ownership import NotOwnError
from ...datadir.paths import LINKED, DataDir, write_files
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.limits import MANIFEST_BYTES
from ...protocol.text import iso_time
from ...settings.host import HostProfile
from ...system.files import read_bounded, remove
from ..policy.reading import is_data_name, is_source_name
from ..tree.about import About, read_about
from ..tree.manifest import (
    MANIFEST_FILE,
    Manifest,
    check_new_id,
    load_manifest,
    read_manifest,
)
from ..tree.tree import Tree, Verified, read_tree, unreadable, verify_tree
from .records import Record, Trust, check_signed


@frozen(kw_only=True)
class ListEntry(Manifest):
    """
    An installed plugin, or a linked one: its manifest, and what is recorded of it.

    :ivar url: Where it was installed from; empty when it is linked.
    :ivar commit: The installed commit, 40 hexadecimal digits; empty when it is linked.
    :ivar installed_at: ISO 8601 in UTC; empty when that is not known.
    :ivar updated_at: The same; equal to ``installedAt`` until the first update.
    :ivar key_id: The fingerprint of its author's key; empty when it is linked, or was
        installed before plugins were signed.
    :ivar trusted_at: When the user accepted this key: milliseconds since the epoch; not
        there when the key is not accepted now.
    :ivar dev: ``true`` when it is linked by ``plugin-bridge dev``; not there otherwise.
    :ivar problem: Why it is not built into the bundle, as in ``broken``; not there when
        nothing is wrong. Only ``plugins/list`` verifies that.
    """

    url: str
    commit: str
    installed_at: str
    updated_at: str
    key_id: str
    trusted_at: int | None = None
    dev: bool | None = None
    problem: str | None = None

    @classmethod
    def of(cls, manifest: Manifest, **recorded: Any) -> ListEntry:
        """Return the entry of a manifest, and the fields that are recorded."""
        return cls(**asdict(manifest, recurse=False), **recorded)

    @classmethod
    def recorded(cls, manifest: Manifest, record: Record) -> ListEntry:
        """Return the entry of an installed plugin."""
        return cls.of(
            manifest,
            url=record.url,
            commit=record.commit,
            installed_at=iso_time(record.installed_at),
            updated_at=iso_time(record.updated_at),
            key_id=record.key_id,
        )

    def with_trust(self, trust: Trust) -> ListEntry:
        """Return it with the time when the user accepted its key, if that is so."""
        return evolve(self, trusted_at=trust.trusted_at(self.key_id))


@frozen
class LinkedTree:
    """
    An author's working tree, as it was read, and its list entry.

    It is neither signed nor recorded.  What the bundler gets is in memory; it only
    looks up on the disk which files there are.

    :ivar command: Who has linked it.
    """

    entry: ListEntry
    tree: Tree
    command: Holder


@frozen
class Broken:
    """
    A plugin that is not built into the bundle.

    :ivar id: The plugin's.
    :ivar reason: Why: a refusal's prefix, and a sentence.
    """

    id: str
    reason: str


@frozen
class PluginList:
    """
    The installed plugins.

    :ivar plugins: List entries, by id.
    :ivar broken: ``{id, reason}`` of every plugin that is not built into the
        bundle: its tree is gone, not usable, or was changed, or the last build left it
        out.  One whose manifest can be read is in ``plugins`` too, so that a page shows
        it.
    """

    plugins: list[ListEntry]
    broken: list[Broken]


@define
class Trees:
    """
    The trees under ``plugins/``.

    :ivar profile: Decides how manifests and signatures are read.
    :ivar random: Returns 16 fresh hexadecimal digits.
    :ivar linked: The linked trees, by plugin id: each stands for the installed plugin
        of this id, if there is one.  Only kept in memory.
    :ivar unsettled: The plugins whose tree may not be the recorded one, since an
        operation on it can't be taken back yet.
    :ivar moving: Held from before a tree is moved until its record agrees with it.
    """

    _data: DataDir
    profile: HostProfile
    _random: Callable[[], str]
    linked: dict[str, LinkedTree] = field(factory=dict, init=False)
    unsettled: set[str] = field(factory=set, init=False)
    moving: DeferredLock = field(factory=DeferredLock, init=False)

    _log: ClassVar[Logger] = Logger()

    @property
    def directory(self) -> Path:
        """Where the trees are."""
        return self._data.plugins

    def fresh(self) -> Path:
        """Choose a name for a clone; only the directory it goes to is made."""
        self.directory.mkdir(mode=0o700, exist_ok=True)
        return self.directory / f".tmp-{self._random()}"

    def has(self, plugin_id: str) -> bool:
        """Whether anything is where the plugin's tree would be."""
        return os.path.lexists(self._data.plugin(plugin_id))

    def aside(self, plugin_id: str) -> str | None:
        """Choose the name to move a plugin's tree to; ``None`` if there is none."""
        return self.fresh().name if self.has(plugin_id) else None

    def link(self, plugin_id: str, linked: LinkedTree | None) -> None:
        """
        Replace the linked tree of a plugin, or remove it.

        :raise OSError: It could not be done; the one before may be gone then.
        """
        place = self.directory / f"{LINKED}{plugin_id}"
        fresh = self.fresh()
        try:
            if linked is not None:
                write_files(fresh, linked.tree.files)
            self.linked.pop(plugin_id, None)
            remove(place)
            if linked is not None:
                os.rename(fresh, place)
                self.linked[plugin_id] = linked
        finally:
            remove(fresh)

    def sweep(self) -> None:
        """Remove what interrupted operations left.  Only before the first of them."""
        for stray in self.directory.glob(".tmp-*"):
            try:
                remove(stray)
            except OSError:
                self._log.failure("{name} could not be removed", name=stray.name)

    def listing(self, records: Mapping[str, Record]) -> PluginList:
        """
        List linked trees and the recorded plugins, verified as before a build.

        One tree at a time is in memory: together they can have hundreds of megabytes.
        """
        linked = dict(self.linked)
        plugins = [one.entry for one in linked.values()]
        broken = []
        for plugin_id in sorted(records.keys() - linked.keys()):
            record = records[plugin_id]
            try:
                manifest = self._verified(plugin_id, record)[1]
            except BridgeError as e:
                broken.append(Broken(plugin_id, e.message))
                if entry := self.entry(plugin_id, record):
                    plugins.append(evolve(entry, problem=e.message))
            else:
                plugins.append(ListEntry.recorded(manifest, record))
        return PluginList(sorted(plugins, key=lambda one: one.id), broken)

    def entries(self, records: Mapping[str, Record]) -> list[ListEntry]:
        """List the same as ``listing``, without verification."""
        linked = dict(self.linked)
        found = [one.entry for one in linked.values()]
        others = records.keys() - linked.keys()
        found += filter(None, (self.entry(one, records[one]) for one in others))
        return sorted(found, key=lambda one: one.id)

    def entry(self, plugin_id: str, record: Record) -> ListEntry | None:
        """
        The list entry of one plugin: its manifest, and what is recorded of it.

        :return: ``None`` when its tree is gone, or its manifest is not usable.
        """
        try:
            content = read_bounded(
                self._root(plugin_id) / MANIFEST_FILE, MANIFEST_BYTES
            )
            manifest = _own(plugin_id, read_manifest(content, self.profile))
        except (BridgeError, OSError):
            return None
        return ListEntry.recorded(manifest, record)

    def sound_manifest(self, plugin_id: str, record: Record) -> Manifest | None:
        """Read an installed tree's manifest; ``None`` when the tree was changed."""
        try:
            return self._verified(plugin_id, record)[1]
        except BridgeError:
            return None

    def about(self, plugin_id: str, records: Mapping[str, Record]) -> About:
        """
        Read what a plugin shows of itself: a linked one, or an installed one.

        :raise BridgeError: ``not_installed``, or why it is not built.
        """
        linked = self.linked.get(plugin_id)
        if linked is not None:
            return read_about(linked.tree)
        if plugin_id not in records:
            raise plugin_error(Prefix.NOT_INSTALLED, f"{plugin_id} is not installed")
        return read_about(self._verified(plugin_id, records[plugin_id])[0])

    def _verified(self, plugin_id: str, record: Record) -> tuple[Tree, Manifest]:
        """
        Read an installed tree, if it is still what its recorded author signed.

        :raise BridgeError: It is gone, changed or older, another user may have written
            it, the record names no key, no plugin may have this id, or its manifest
            has another, or breaks a rule that is newer than its installation.
        """
        check_new_id(plugin_id)
        if plugin_id in self.unsettled:
            raise plugin_error(
                Prefix.UNSIGNED,
                "an operation that failed can't be taken back yet; that is tried again "
                "by the next one, and by the next start",
            )
        check_signed(record)
        tree = read_tree(self._root(plugin_id))
        # It was accepted; that the clock was set back since changes nothing.
        signed = verify_tree(tree, plugin_id, self.profile, now=math.inf)
        if signed.key_id != record.key_id:
            raise plugin_error(
                Prefix.NOT_TRUSTED,
                "the tree is signed by another key than the recorded one",
            )
        if signed.signed_at < record.signed_at:
            # A valid one: somebody has put back what was replaced by an update.
            raise plugin_error(
                Prefix.DOWNGRADE, "the tree is older than the one that was installed"
            )
        return tree, _own(plugin_id, load_manifest(tree, self.profile))

    def verified_trees(self, records: Mapping[str, Record]) -> Verified:
        """
        Read every tree, and verify those that no linked one stands for.

        :return: What to build, without pictures and the like, which no plugin can
            import, or all of them would be in memory; and why each other plugin is not
            built.
        """
        linked = dict(self.linked)
        sound: dict[str, Tree] = {}
        faults: dict[str, str] = {}
        for plugin_id in sorted({*linked, *records}):
            try:
                if plugin_id in linked:
                    sound[f"{LINKED}{plugin_id}"] = linked[plugin_id].tree
                else:
                    tree, _ = self._verified(plugin_id, records[plugin_id])
                    sound[plugin_id] = _bundled(tree)
            except BridgeError as e:
                faults[plugin_id] = e.message
        return sound, faults

    def _root(self, plugin_id: str) -> Path:
        root = self._data.plugin(plugin_id)
        try:
            if stat.S_ISDIR(os.lstat(root).st_mode):
                return self._data.checked(root)
        except (FileNotFoundError, NotADirectoryError):
            why = "its directory is gone; install it again, or uninstall it"
            raise plugin_error(Prefix.NOT_INSTALLED, why) from None
        except NotOwnError as e:
            raise plugin_error(Prefix.NOT_TRUSTED, str(e)) from None
        except OSError as e:
            raise unreadable("", e) from None
        why = "something else is in its directory's place; uninstall it"
        raise plugin_error(Prefix.NOT_INSTALLED, why)


def _own(plugin_id: str, manifest: Manifest) -> Manifest:
    """
    Return a plugin's manifest.

    :raise BridgeError: It is another plugin's.
    """
    if manifest.id != plugin_id:
        raise plugin_error(
            Prefix.MANIFEST_INVALID, "id: not the one it was installed under"
        )
    return manifest


def _bundled(tree: Tree) -> Tree:
    """Return a tree with only what the bundler reads of it."""
    files = tree.files.items()
    return Tree(
        {path: c for path, c in files if is_source_name(path) or is_data_name(path)}
    )
