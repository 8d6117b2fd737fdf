"""
One build's files: from the installed trees to the published bundle.

Everything is made in a directory of its own inside the theme's folder, so that what
is published gets there by renaming.  Everything here blocks; the caller runs it in a
thread.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import define, field

from ...datadir.lock import DirectoryLock, LockedError, acquire_directory
from ...datadir.ownership import write_file
from ...datadir.paths import DataDir, DataDirError
from ...protocol.limits import BUILD_BUNDLE_BYTES, BUILD_METAFILE_BYTES, KIB
from ...settings.host import HostProfile
from ...system.files import NO_LINK, remove, sync_directory, sync_files
from ..esbuild.executable import Executable, HeldCopy
from ..tree.files import TooLargeError, read_bounded, read_own
from ..tree.tree import Tree, Verify
from .bundlerprocess import METAFILE
from .confinement.alone import Confinement
from .confinement.boundfiles import Bound
from .confinement.prelude import prelude_text
from .inputs.files import Contents, check_files
from .inputs.metafile import TOO_LARGE, BuildError, check_metafile
from .inputs.sourcemap import check_map, map_pieces, parse_map
from .plugintable import (
    FREEZE_FILE,
    PACKAGE,
    PACKAGE_FILE,
    TABLE_FILE,
    plugin_of,
    table_text,
)
from .prerequisites import (
    BUNDLER_BINARY,
    BUNDLER_CHECKSUM,
    BUNDLER_FILES,
    HOST_FILES,
    missing_files,
)
from .published import INFO_FILE, STAGING_PREFIX

_BUFFER_BYTES: Final = 64 * KIB
_PREVIOUS: Final = ".previous"
_MISSING: Final = {
    BUNDLER_BINARY: "bundler missing",
    BUNDLER_CHECKSUM: "bundler checksum missing",
}


@define(eq=False)
class Staging:
    """
    The working directory of one build, and the files in it.

    :ivar folder: The theme's folder, where the bundle is published.
    :ivar trees: What the bundle is made of, in order; there after ``begin``.
    :ivar root: The data directory's real path; there after ``prepare``.
    :ivar confinement: The plugins alone, if the profile binds their names; there after
        ``prepare``.
    """

    _profile: HostProfile
    _data: DataDir
    folder: Path
    _version: str
    _bundler: HeldCopy = field(factory=HeldCopy)
    _bound: dict[str, Bound] = field(factory=dict)
    trees: Mapping[str, Tree] = field(factory=dict, init=False)
    executable: Executable | None = field(default=None, init=False)
    root: Path = field(init=False)
    confinement: Confinement | None = field(default=None, init=False)
    _lock: DirectoryLock | None = field(default=None, init=False)

    @property
    def directory(self) -> Path:
        """Where the bundler writes; there after ``prepare``."""
        return self.folder / f"{STAGING_PREFIX}{os.getpid()}"

    @property
    def bundle(self) -> str:
        """The bundle's file name."""
        return f"{self._profile.bundle_name}.js"

    @property
    def _map(self) -> str:
        return f"{self.bundle}.map"

    def claim(self) -> bool:
        """
        Lock the theme's folder until ``discard``.

        Daemons of several data directories may publish there, one at a time.

        :return: False while another build holds the lock.
        :raise BuildError: Something a build needs is missing.
        :raise OSError: There is no room, or no permission.
        """
        for path in missing_files(self._data.root, [*BUNDLER_FILES, *HOST_FILES]):
            what = _MISSING.get(path, "host sources missing")
            raise BuildError(f"{what}: there is no {path}; run plugin-bridge setup")
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = acquire_directory(self.folder)
        except LockedError:
            return False
        return True

    def prepare(self, trees: Mapping[str, Tree]) -> Executable:
        """
        Verify the bundler, and create the files it needs; call after ``claim``.

        :param trees: See ``Builder.build``.
        :raise BuildError: The bundler is not what it should be, or another user may
            have written what a build needs.
        :raise OSError: There is no room, or no permission.
        """
        try:
            self._data.create()
        except DataDirError as e:
            raise BuildError(str(e)) from None
        # The bundler knows files by their real paths, and so do its answers.
        self.root = Path(os.path.realpath(self._data.root))
        self.folder = Path(os.path.realpath(self.folder))
        _remove_stale(self.folder)
        self.directory.mkdir(mode=0o700)
        self.executable = self._bundler.get(self._data.bin, lambda: self.directory)
        if self._profile.binds_names:
            self.confinement = Confinement(
                self._profile, trees, self._bound, self.root, self.directory
            )
            self.confinement.prepare(self.executable.digest)
        self._write_table(trees)
        return self.executable

    def begin(self, verify: Verify) -> Executable | None:
        """
        Claim the theme's folder, verify what to build and prepare.

        :return: ``None`` while the folder is another's.
        """
        try:
            claimed = self.claim()
        except BuildError:
            self._verify(verify)  # for the report
            raise
        if not claimed:
            return None
        self._verify(verify)
        return self.prepare(self.trees)

    def _verify(self, verify: Verify) -> None:
        self.trees = dict(sorted(verify().items()))

    def _write_table(self, directories: Iterable[str]) -> None:
        profile, bound = self._profile, self.confinement is not None
        table = table_text(directories, profile.lazy_table, bound, profile.freeze)
        _replace(self.root / TABLE_FILE, table.encode())
        _replace(self.root / PACKAGE_FILE, PACKAGE)
        if profile.freeze:
            _replace(self.root / FREEZE_FILE, prelude_text().encode())

    def check(self, directories: Sequence[str]) -> None:
        """
        Validate what the bundler read and wrote, and add the other published files.

        :raise BuildError: Naming the file that has no business in the bundle.
        :raise OSError: Something could not be read or written.
        """
        contents = Contents(str(self.root))
        published = [self.directory / n for n in (self.bundle, self._map, INFO_FILE)]
        try:
            unchecked = inputs = self._check_inputs(directories, contents)
            if self.confinement is not None:
                unchecked = self.confinement.check_unchanged(inputs)
                inputs |= self.confinement.inputs
            self._make_portable(inputs, contents)
            self._write_info(directories)
            check_files(contents.root, unchecked)
        except TooLargeError:
            raise BuildError(TOO_LARGE) from None
        sync_files(published)

    def _check_inputs(
        self, directories: Sequence[str], contents: Contents
    ) -> frozenset[str]:
        """Check what was read, by the metafile."""
        metafile = read_bounded(self.directory / METAFILE, BUILD_METAFILE_BYTES)
        written = (self.bundle, self._map)
        bound = self.confinement is not None
        return check_metafile(metafile, directories, written, contents.read, bound)

    def _make_portable(self, inputs: Collection[str], contents: Contents) -> None:
        path = self.directory / self._map
        text = read_bounded(path, BUILD_BUNDLE_BYTES)
        known = {} if self.confinement is None else self.confinement.known
        checked = check_map(
            parse_map(text),
            str(self.directory),
            contents.root,
            inputs,
            contents.read,
            known,
        )
        # In place: a file system may take long to make a file.
        _write(path, map_pieces(checked))

    def _write_info(self, directories: Sequence[str]) -> None:
        bundle = read_bounded(self.directory / self.bundle, BUILD_BUNDLE_BYTES)
        info = {
            "author": self._profile.info_author,
            "version": self._version,
            "sha256": hashlib.sha256(bundle).hexdigest(),
            "plugins": sorted(map(plugin_of, directories)),
        }
        linked = [name for name in directories if plugin_of(name) != name]
        if linked:
            info["dev"] = sorted(map(plugin_of, linked))
        text = json.dumps(info, indent=2, ensure_ascii=False) + "\n"
        _write(self.directory / INFO_FILE, [text.encode()])

    def finish(self) -> None:
        """Check what was made, publish it, and remove the rest; see each of these."""
        self.check(list(self.trees))
        self.publish()
        if self.confinement is not None:
            self.confinement.keep()
        self.discard()

    def publish(self) -> None:
        """
        Rename what was made into place: the bundle last, since it is what counts.

        A crash between leaves the previous bundle whole.

        :raise OSError: It could not be done, and the previous files are as before.
        """
        alongside = (INFO_FILE, self._map)
        for name in alongside:
            with contextlib.suppress(FileNotFoundError):
                _keep(self.folder / name, self._previous(name))
        done: list[str] = []
        try:
            for name in (*alongside, self.bundle):
                os.replace(self.directory / name, self.folder / name)
                done.append(name)
        except OSError:
            self._undo(done)
            raise
        sync_directory(self.folder)

    def _previous(self, name: str) -> Path:
        return self.directory / (name + _PREVIOUS)

    def _undo(self, names: Iterable[str]) -> None:
        for name in names:
            with contextlib.suppress(OSError):
                if self._previous(name).exists():
                    os.replace(self._previous(name), self.folder / name)
                else:
                    (self.folder / name).unlink()

    @property
    def is_open(self) -> bool:
        """Whether there is something that ``discard`` has to do."""
        return self._lock is not None

    def discard(self) -> None:
        """Remove everything of the build except what it published."""
        if self.executable is not None:
            self.executable.close()
            self.executable = None
        if self._lock is not None:
            remove(self.directory, ignore_errors=True)
            self._lock.release()
            self._lock = None


def sweep(folder: Path) -> None:
    """
    Remove the working directories that killed builds have left.  Blocks.

    Nothing happens while another daemon builds there; that build removes them.

    :param folder: The theme's folder.
    """
    try:
        lock = acquire_directory(folder)
    except (LockedError, OSError):
        return
    try:
        _remove_stale(folder)
    finally:
        lock.release()


def _remove_stale(folder: Path) -> None:
    for stale in folder.glob(f"{STAGING_PREFIX}*"):
        remove(stale, ignore_errors=True)


def _replace(path: Path, content: bytes) -> None:
    """
    Replace a file as a whole, by one that need not survive a power loss.

    To rename takes longer than to see that it has this content already.
    """
    with contextlib.suppress(OSError):
        if read_own(path, len(content)) == content:
            return
    temporary = path.with_name(f"{path.name}.tmp")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    write_file(temporary, content)
    os.replace(temporary, path)


def _keep(path: Path, name: Path) -> None:
    """Give a file another name, or copy it where that can't be."""
    try:
        os.link(path, name, follow_symlinks=False)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(path, name)


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file of the bundler's again, or one that is not there; no link."""
    with open(path, "wb", buffering=_BUFFER_BYTES, opener=_in_place) as file:
        file.writelines(pieces)
        file.truncate()


def _in_place(path: str, flags: int) -> int:
    # To empty it first would free on the disk what is allocated again at once.
    return os.open(path, flags & ~os.O_TRUNC | NO_LINK, 0o666)
