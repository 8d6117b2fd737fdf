"""
Installs what the daemon builds with: the bundler and the host's sources.

Files in place are not changed, so setup can be repeated at any time.  Of what is
downloaded, the bundler and the view library of the reference page, only the bytes that
``PINS`` of the bundler or ``LIBRARY`` name are installed, from wherever.  The
library, preact, is in no repository of ours: the wheel and the Debian package contain
its package as npm has it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from .. import __version__
from ..classes import frozen
from ..datadir.paths import DataDir, write_atomically
from ..plugins.esbuild.executable import (
    BINARY_NAME,
    CHECKSUM_NAME,
    VERSION,
    BundlerError,
    Pin,
    pin_for,
    read_checksum,
)
from ..protocol.limits import BUNDLER_BYTES, NPM_SECONDS
from ..settings.host import Paths
from ..system.files import read_bounded
from ..system.locks import LockedError, acquire
from .hostsources import (
    InstalledSources,
    Sources,
    check_directory_host,
    digest_of,
    end_replacement,
    install_sources,
    installed_record,
    kept_sources,
    read_sources,
    unmodified_sources,
)
from .npm import NpmPackage, SetupError, unpacked
from .readiness import OWN_HOST, missing_sources, setup_advice, sources_origin

SHIPPED: Final = Path(__file__).parent.parent / "shipped"
"""Where a package of ours may have put what setup would download."""

_GZIP: Final = b"\x1f\x8b"


def _package(pin: Pin) -> NpmPackage:
    return NpmPackage(pin.name, VERSION, pin.tarball, "bundler")


def read_bundler(given: Path, pin: Pin) -> bytes:
    """
    Read the bundler from a file.

    :param given: The binary, or the npm package as ``npm pack`` makes it.
    :raise SetupError: It is not the pinned bundler.
    """
    package = _package(pin)
    content = package.read(given)
    if content.startswith(_GZIP):
        return _binary(package.verified(content), pin)
    if hashlib.sha256(content).hexdigest() != pin.binary:
        raise package.other()
    return content


def _binary(package: bytes, pin: Pin) -> bytes:
    """Return the binary of a package whose digest was checked, so that it is there."""
    return next(content for path, content in unpacked(package) if path == pin.member)


def bundler_at_hand(pin: Pin) -> bytes | None:
    """
    Return the bundler where our package put it.

    :raise SetupError: What is there is not the pinned one.
    """
    path = SHIPPED / BINARY_NAME
    return read_bundler(path, pin) if path.exists() else None


def find_bundler(pin: Pin) -> bytes:
    """
    Find the bundler: where our package put it, or through the user's npm.

    :raise SetupError: It was not found; the message shows the command to run.
    """
    return bundler_at_hand(pin) or _binary(_package(pin).download(), pin)


def installed_bundler(data: DataDir, pin: Pin) -> bool:
    """Whether the pinned bundler and its checksum file are in place."""
    executable = os.access(data.bin / BINARY_NAME, os.X_OK)
    return executable and runnable(data) == pin.binary


def runnable(data: DataDir) -> str:
    """Return the bundler's digest; empty if its checksum file has another, or none."""
    try:
        named = read_checksum(data.checked(data.bin))
        binary = read_bounded(data.bin / BINARY_NAME, BUNDLER_BYTES)
    except (OSError, BundlerError):
        return ""
    return named if named == hashlib.sha256(binary).hexdigest() else ""


def install_bundler(content: bytes, data: DataDir, pin: Pin) -> None:
    """
    Put the bundler and its checksum file in place.

    :raise OSError: It could not be done.
    """
    data.bin.mkdir(mode=0o700, exist_ok=True)
    write_atomically(data.bin / BINARY_NAME, content, 0o755)
    # Whatever the umask: it is as public as it is.
    (data.bin / BINARY_NAME).chmod(0o755)
    write_atomically(data.bin / CHECKSUM_NAME, pin.binary.encode() + b"\n", 0o644)


LIBRARY: Final = NpmPackage(
    "preact",
    "11.2.0",
    "/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGHe1sR6oYuTGwId0nP7dqDU9OnLxMPZ7x"
    "Bg==",
    "library",
)
"""What the reference host's page is drawn with."""

FOLDER: Final = f"node_modules/{LIBRARY.name}/"
"""Where it is below ``host/``."""

_WANTED: Final = re.compile(r"package/(LICENSE|(?:hooks/)?src/[\w./-]+)")

# The published one names minified files, whose source maps lead out of the bundle.
_DESCRIPTION: Final = {
    "name": LIBRARY.name,
    "version": LIBRARY.version,
    "license": "MIT",
    "type": "module",
    "sideEffects": False,
    "exports": {
        path: {
            "types": f"./{folder}src/index.d.ts",
            "default": f"./{folder}src/index.js",
        }
        for path, folder in ((".", ""), ("./hooks", "hooks/"))
    },
}


def read_library(given: Path) -> bytes:
    """
    Read the package from a file.

    :param given: As ``npm pack`` writes it.
    :raise SetupError: It is not the pinned package.
    """
    return LIBRARY.verified(LIBRARY.read(given))


def find_library() -> bytes:
    """
    Find the package: where our package put it, or through the user's npm.

    :raise SetupError: It was not found; the message shows the command to run.
    """
    path = SHIPPED / LIBRARY.file
    return read_library(path) if path.exists() else LIBRARY.download()


def installed_library(data: DataDir) -> Sources:
    """
    Return the library in place, if it is of the pinned version and nobody changed it.

    :return: Its files, as ``library_files`` gives them; nothing otherwise.
    """
    sources = unmodified_sources(data) or {}
    if sources.get(f"{FOLDER}package.json") != _described():
        return {}
    return {path: sources[path] for path in sources if path.startswith(FOLDER)}


def library_at_hand(data: DataDir) -> Sources:
    """
    Return the library without npm: the one in place, or that of our package.

    :return: As ``installed_library``.
    :raise SetupError: That of our package is not the pinned one.
    """
    if found := installed_library(data):
        return found
    path = SHIPPED / LIBRARY.file
    return library_files(read_library(path)) if path.exists() else {}


def needs_npm(data: DataDir, pin: Pin) -> bool:
    """
    Whether a setup downloads the bundler or the library.

    :raise SetupError: What is in our package is not the pinned one.
    """
    bundler = installed_bundler(data, pin) or bundler_at_hand(pin)
    return not (bundler and library_at_hand(data))


def library_files(package: bytes) -> Sources:
    """
    Unpack what the host's bundle is made of.

    :param package: Verified.
    :return: Readable sources and types, the licence, and a description that names them.
    """
    files = {f"{FOLDER}package.json": _described()}
    for path, content in unpacked(package):
        if wanted := _WANTED.fullmatch(path):
            files[FOLDER + wanted[1]] = content
    return files


def _described() -> bytes:
    return (json.dumps(_DESCRIPTION, indent=2) + "\n").encode()


_SAMPLE: Final = "sample"
_SAMPLE_TABLE: Final = """
CREATE TABLE places (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    visits INTEGER NOT NULL,
    last_visit TEXT
);
INSERT INTO places (name, visits, last_visit) VALUES
    ('The Lighthouse', 12, '2025-03-01T20:15:00Z'),
    ('Night Market', 7, '2025-03-04T22:40:00Z'),
    ('Glass Garden', 3, '2025-02-11T18:05:00Z'),
    ('Nowhere Yet', 0, NULL);
"""


@frozen(eq=False, repr=False)
class Setup:
    """
    Installs the bundler and the host's sources.

    :ivar report: Accepts a line for each thing that was installed or in place.
    :ivar bundler: The bundler's binary or npm package; ``None``: find it.
    :ivar host_sources: Their directory or tar archive; ``None``: those that came with
        the profile, if any did.
    :ivar library: The npm package of the reference page's library; ``None``: find it.
    :ivar force: Install again what is in place.
    """

    place: Paths
    report: Callable[[str], None]
    bundler: Path | None = None
    host_sources: Path | None = None
    library: Path | None = None
    force: bool = False

    def install(self, *, bundler_only: bool = False) -> None:
        """
        Install everything.

        :raise SetupError: Something could not be installed; all else was.
        :raise DataDirError: The data directory can't be used, or is another host's.
        """
        self.place.data.create()
        check_directory_host(self.place)
        with _alone(self.place.data, NPM_SECONDS):
            self._install_all(bundler_only)

    def _install_all(self, bundler_only: bool) -> None:
        failures = []
        others = () if bundler_only else (self._install_host, self._install_sample)
        for step in (self._install_bundler, *others):
            try:
                step()
            except SetupError as e:
                failures.append(str(e))
            except (OSError, sqlite3.Error) as e:
                why = getattr(e, "strerror", None) or str(e)
                failures.append(f"the data directory cannot be written: {why}")
        if failures:
            raise SetupError("; ".join(dict.fromkeys(failures)))

    def _install_bundler(self) -> None:
        pin, data = _pin(), self.place.data
        content = read_bundler(self.bundler, pin) if self.bundler else None
        if installed_bundler(data, pin) and not self.force:
            self.report(f"bundler: esbuild {VERSION} is already installed")
            return
        install_bundler(content or find_bundler(pin), data, pin)
        self.report(f"bundler: installed esbuild {VERSION} for {pin.platform}")

    def _install_host(self) -> None:
        profile = self.place.profile
        if self.host_sources is not None:
            self._install_sources(read_sources(self.host_sources))
        elif profile.name == OWN_HOST:
            self._install_sources({**own_sources(), **self._own_library()})
        elif missing_sources(self.place):
            raise SetupError(
                f"the sources of {profile.application}'s plugin system are missing: "
                f"{sources_origin(profile)}; then pass the path with --host-sources"
            )
        else:
            self.report("host sources: already installed")

    def _own_library(self) -> Sources:
        if self.library is not None:
            return library_files(read_library(self.library))
        if not self.force and (found := installed_library(self.place.data)):
            return found
        return library_files(find_library())

    def _install_sources(self, sources: Sources) -> None:
        data, profile = self.place.data, self.place.profile
        for needed in profile.needed_sources:
            if (inside := needed.removeprefix("host/")) not in sources:
                raise SetupError(f"--host-sources: there is no {inside}")
        given = self.host_sources is not None
        changed = install_sources(
            sources, data, __version__, profile.name, given=given, force=self.force
        )
        done = "installed" if changed else "already installed"
        self.report(f"host sources: {done} ({len(sources)} files)")
        for path in kept_sources(data):
            self.report(f"host sources: what was there before is kept in {path}")

    def _install_sample(self) -> None:
        """Create the database that the reference host's pages may read."""
        profile = self.place.profile
        if profile.name != OWN_HOST or _SAMPLE not in profile.databases:
            return
        path = profile.database(_SAMPLE, self.place.data.root)
        if path.exists():
            self.report("sample database: already installed")
            return
        _make_sample(path)
        self.report("sample database: installed")


def sources_problem(place: Paths) -> str:
    """
    Return which version has installed the host's sources, if it was another one.

    :return: One line, with what to run; empty when nothing has to be done, when
        there are no sources, or when another program has put its own there.
    """
    record, own = installed_record(place.data), place.profile.name == OWN_HOST
    if not (own and record) and missing_sources(place):
        return ""
    if _is_ours(record, place.data) if record else not own:
        return ""
    return (
        f"the host's sources were installed by {_version(record)} of plugin-bridge, "
        f"not by this {__version__}; {setup_advice(place, new_sources=True)}"
    )


def _is_ours(record: InstalledSources, data: DataDir) -> bool:
    """Whether this plugin-bridge has installed them, or would install the same."""
    # Without a host, an earlier daemon has written it: they may have been given.
    if record.version != __version__ or record.given or record.host != OWN_HOST:
        return record.version == __version__
    # A checkout changes more often than its version.
    with contextlib.suppress(SetupError):
        if library := library_at_hand(data):
            return record.digest == digest_of({**own_sources(), **library})
    # They have another version of the library, unless somebody changed them.
    return unmodified_sources(data) is None


def _version(record: InstalledSources | None) -> str:
    if record is None:
        return "an unknown version"
    other = "another build of " if record.version == __version__ else ""
    return f"{other}version {record.version}"


def renew_sources(place: Paths) -> str:
    """
    Install the host's sources of this version in the place of another version's.

    Only those of the reference host are replaced, if they came with plugin-bridge and
    nobody has changed them.  What was killed while it replaced any is ended first.

    :return: What was done, or else ``sources_problem``.
    """
    data = place.data
    if data.host_old.exists():
        with contextlib.suppress(OSError, SetupError), _alone(data):
            end_replacement(data)
    record, problem = installed_record(data), sources_problem(place)
    if not problem or record is None or record.given or place.profile.name != OWN_HOST:
        return problem
    try:
        with _alone(data):
            library = library_at_hand(data)
            if unmodified_sources(data) is None or not library:
                return problem
            sources = {**own_sources(), **library}
            install_sources(sources, data, __version__, OWN_HOST, force=True)
    except (OSError, SetupError):
        return problem
    return (
        f"the host's sources of {_version(record)} were replaced by those of version "
        f"{__version__}"
    )


@contextlib.contextmanager
def _alone(data: DataDir, patience: float = 0.0) -> Iterator[None]:
    """
    Keep builds and other setups away from what is being replaced.

    :param patience: Seconds to wait for them.
    :raise SetupError: They took longer, or the lock can't be made.
    """
    try:
        lock = acquire(data.build_lock, patience)
    except LockedError:
        raise SetupError("another setup, or a build, has not ended") from None
    except OSError as e:
        why = f"the data directory cannot be written: {e.strerror}"
        raise SetupError(why) from None
    with lock:
        yield


def own_sources() -> Sources:
    """Read the reference host's sources, which come with us, without its library."""
    with as_file(files("bridge").joinpath("reference")) as own:
        return read_sources(own)


def download(directory: Path, report: Callable[[str], None]) -> None:
    """
    Put what setup would download into a directory, verified; install nothing.

    :raise SetupError: Something could not be downloaded.
    :raise OSError: It could not be written.
    """
    pin = _pin()
    directory.mkdir(parents=True, exist_ok=True)
    bundler = directory / BINARY_NAME
    bundler.write_bytes(find_bundler(pin))
    bundler.chmod(0o755)
    (directory / LIBRARY.file).write_bytes(find_library())
    for path in (bundler, directory / LIBRARY.file):
        report(f"downloaded {path}")


def _pin() -> Pin:
    pin = pin_for()
    if pin is None:
        raise SetupError(f"there is no esbuild {VERSION} for this system")
    return pin


def _make_sample(path: Path) -> None:
    unfinished = path.with_name(path.name + ".tmp")
    unfinished.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(unfinished)) as database:
        database.executescript(_SAMPLE_TABLE)
    unfinished.rename(path)
