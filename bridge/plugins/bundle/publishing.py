"""
What a build writes: the table of the plugins, which the host's bundle imports, and what
is published in the theme's folder, for one build at a time.

What is published is written in a directory of its own inside the folder, so that it
gets into its place by renaming.  What writes or reads files blocks; the caller runs it
in a thread.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from attrs import field

from ...classes import define, frozen
from ...datadir.ownership import check_publishable
from ...datadir.paths import LINKED, make_directories, write_file
from ...protocol.errors import BridgeError
from ...protocol.limits import BUILD_BUNDLE_BYTES, MANIFEST_BYTES
from ...protocol.strictjson import dumps, loads
from ...system.files import read_bounded, remove, sync_directory, sync_files
from ...system.locks import LockedError, acquire, acquire_directory
from ..tree.manifest import ENTRY_FILE, MANIFEST_FILE, is_usable_id
from .metafile import Bundle

INFO_FILE: Final = "info.json"
"""What the bundle was built of."""

STAGING_PREFIX: Final = ".build-"
"""Of the directory that a build works in; a killed one leaves it."""

_PREVIOUS: Final = ".previous"


@define(eq=False)
class Staging:
    """
    The theme's folder during one build.

    :ivar folder: Where the bundle is published.
    """

    folder: Path
    _lock_file: Path
    _locks: contextlib.ExitStack = field(factory=contextlib.ExitStack, init=False)

    def claim(self) -> bool:
        """
        Lock the data directory's builds and the folder, until ``release``.

        Daemons of several data directories may publish there, one at a time.

        :return: False while another build holds a lock.
        :raise NotOwnError: Others could publish there, too.
        :raise OSError: There is no room, or no permission.
        """
        with contextlib.ExitStack() as locks:
            try:
                # First: without a data directory it fails, and none may be made here.
                locks.enter_context(acquire(self._lock_file))
                make_directories(self.folder)
                check_publishable(self.folder)
                locks.enter_context(acquire_directory(self.folder))
            except LockedError:
                return False
            self._locks = locks.pop_all()
        _remove_stale(self.folder)
        return True

    def release(self) -> None:
        """Let the next build have them."""
        self._locks.close()

    def publish(self, files: Mapping[str, bytes]) -> None:
        """
        Write files and rename them into place, in this order.

        :param files: By name; the last one is what shows that all are in place.
        :raise OSError: It could not be done, and the previous files are as before.
        """
        directory = self.folder / f"{STAGING_PREFIX}{os.getpid()}"
        directory.mkdir(mode=0o700)
        try:
            for name, content in files.items():
                write_file(directory / name, content, 0o644)
                with contextlib.suppress(FileNotFoundError):
                    _keep(self.folder / name, directory / f"{name}{_PREVIOUS}")
            sync_files([directory / name for name in files])
            with contextlib.ExitStack() as undoing:
                for name in files:
                    place = self.folder / name
                    os.replace(directory / name, place)
                    undoing.callback(_restore, directory / f"{name}{_PREVIOUS}", place)
                undoing.pop_all()
            sync_directory(self.folder)
        finally:
            _discard(directory)


def _restore(previous: Path, place: Path) -> None:
    with contextlib.suppress(OSError):
        if previous.exists():
            os.replace(previous, place)
        else:
            place.unlink()


def is_current(
    bundle: Path, version: str, recorded: Collection[str], sources: Path
) -> bool:
    """
    Whether there is a bundle that a build at the start would only repeat.  Blocks.

    It is not when one of its files is missing, when a killed build has left some that
    don't belong together, when another version has built it, or of older sources, with
    linked trees in it, or with other plugins than the installed ones: one that was left
    out may have been repaired meanwhile.

    :param bundle: Its file.
    :param version: Of this daemon.
    :param recorded: The ids of the installed plugins.
    :param sources: The directory of the host's, which is replaced as a whole.
    """
    described = bundle.with_name(INFO_FILE)
    try:
        if sources.stat().st_mtime_ns > described.stat().st_mtime_ns:
            return False
        info = loads(read_bounded(described, MANIFEST_BYTES))
        if type(info) is not dict or "dev" in info or info.get("version") != version:
            return False
        plugins = info.get("plugins")
        if type(plugins) is not list or {*map(str, plugins)} != {*recorded}:
            return False
        files = [bundle, bundle.with_name(f"{bundle.name}.map")]
        contents = [read_bounded(path, BUILD_BUNDLE_BYTES) for path in files]
    except (OSError, BridgeError):
        return False
    digests = [sha256(content).hexdigest() for content in contents]
    return [info.get("sha256"), info.get("mapSha256")] == digests


def sweep(folder: Path) -> None:
    """
    Remove the working directories that killed builds have left.  Blocks.

    Nothing happens while another daemon builds there; that build removes them.

    :param folder: The theme's folder.
    """
    with contextlib.suppress(LockedError, OSError), acquire_directory(folder):
        _remove_stale(folder)


def _remove_stale(folder: Path) -> None:
    for stale in folder.glob(f"{STAGING_PREFIX}*"):
        _discard(stale)


def _discard(path: Path) -> None:
    """Remove what a build worked with, or leave that to the next."""
    with contextlib.suppress(OSError):
        remove(path)


def replace_file(path: Path, content: bytes) -> None:
    """
    Replace a file as a whole, by one that need not survive a power loss.

    To rename takes longer than to see that it has this content already.
    """
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.unlink(missing_ok=True)  # left by a build that was killed
    with contextlib.suppress(OSError):
        if read_bounded(path, len(content)) == content:
            return
    try:
        write_file(temporary, content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _keep(path: Path, name: Path) -> None:
    """Give a file another name, or copy it where that can't be."""
    try:
        os.link(path, name, follow_symlinks=False)
    except OSError:
        shutil.copyfile(path, name)


_HEADER: Final = "// Generated by plugin-bridge. Do not edit."

# TypeScript may import what nothing exports, as it may be a type.  Such a name gets a
# short one that nothing declares, but none that is mentioned: this one is the window.
_RESERVED: Final = "() => top;"


@frozen
class Text:
    """
    A plugin as a text of the table.

    :ivar fields: TypeScript: its script and what a map needs.
    :ivar size: How many bytes of a bundle or its map it takes.
    """

    fields: bytes
    size: int

    @classmethod
    def of(cls, one: Bundle) -> Text:
        """
        Write a plugin for the table.

        :param one: Of the plugin alone: a script that assigns what it exports to
            ``plugin``.
        """
        source_map = {"sources": one.map.sources, "mappings": one.map.mappings}
        text = dumps(one.script.decode())
        fields = b"text: %b, map: %b" % (text, dumps(source_map))
        # The table is a source of the bundle's map.
        size = len(dumps(fields.decode()))
        return cls(fields, max([size, *one.map.shares.values()]))


@frozen
class Table:
    """
    The table of the plugins, by id, which is generated.

    :ivar text: TypeScript.
    :ivar imports: The files that it imports, relative to the data directory.
    """

    text: bytes
    imports: frozenset[str]

    @classmethod
    def of_modules(cls, directories: Iterable[str]) -> Table:
        """
        Write the table of plugins that are modules of the bundle.

        :param directories: Names below ``plugins/``: ids, or those of linked trees.
        :raise ValueError: Something is not a plugin id.  Callers have checked; this is
            the last place before a name becomes code.
        """
        lines, entries, imports = [_HEADER, _RESERVED], [], []
        for n, directory in enumerate(_ordered(directories)):
            entry, manifest = (
                f"plugins/{directory}/{file}" for file in (ENTRY_FILE, MANIFEST_FILE)
            )
            lines.append(f"import p{n} from '../{entry}';")
            lines.append(f"import m{n} from '../{manifest}';")
            entries.append(f"{{ manifest: m{n}, plugin: p{n} }}")
            imports += [entry, manifest]
        lines.append(
            f"export const COMPILED_PLUGINS = [{', '.join(entries)}] as const;"
        )
        return cls("\n".join([*lines, ""]).encode(), frozenset(imports))

    @classmethod
    def of_texts(cls, texts: Mapping[str, Text], runtime: bytes) -> Table:
        """
        Write the table of plugins that are texts in the bundle.

        :param texts: By the plugin's directory, see ``of_modules``.
        :param runtime: The script that has to run before a plugin's.
        :raise ValueError: See ``of_modules``.
        """
        lines, rows, imports = [_HEADER.encode()], [], []
        for n, directory in enumerate(_ordered(texts)):
            manifest = f"plugins/{directory}/{MANIFEST_FILE}"
            lines.append(f"import m{n} from '../{manifest}';".encode())
            rows.append(b"  { manifest: m%d, %b },\n" % (n, texts[directory].fields))
            imports.append(manifest)
        lines.append(
            b"export const COMPILED_PLUGINS = [\n%b] as const;" % b"".join(rows)
        )
        lines.append(b"export const REALM_RUNTIME = %b;\n" % dumps(runtime.decode()))
        return cls(b"\n".join(lines), frozenset(imports))


def plugin_of(directory: str) -> str:
    """Return the id of the plugin whose tree is in a directory below ``plugins/``."""
    return directory.removeprefix(LINKED)


def _ordered(directories: Iterable[str]) -> list[str]:
    ordered = sorted(directories, key=plugin_of)
    if not all(is_usable_id(plugin_of(directory)) for directory in ordered):
        raise ValueError("not a plugin id")
    return ordered
