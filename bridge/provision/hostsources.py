"""
The host application's sources, as ``plugin-bridge setup`` installs them.

They come from a directory or a tar archive: every path in it is validated
before anything is written, and what is installed replaces the old as a whole.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from itertools import count, takewhile
from pathlib import Path
from typing import Annotated, BinaryIO, Final

from ..classes import frozen
from ..datadir.paths import HOST_FILES, DataDir, DataDirError, write_files
from ..protocol.errors import BridgeError
from ..protocol.limits import HOST_SOURCE_BYTES, HOST_SOURCE_FILES
from ..protocol.strictjson import dumps, loads_unique
from ..protocol.text import shown, visible
from ..protocol.wire import string, structure, unstructure
from ..settings.host import Paths
from ..system.files import (
    NotRegularError,
    open_regular,
    read_bounded,
    remove,
    sync_directory,
)
from .npm import SetupError

# The folders that are installed; the rest is ignored.
_WANTED: Final = ("packages", "node_modules")
_NEEDED: Final = tuple(sorted(path.removeprefix("host/") for path in HOST_FILES))
_PATH_CHARACTERS: Final = 1024
_SAFE: Final = re.compile(rf'[^\x00-\x1f\x7f\\:*?"<>|]{{1,{_PATH_CHARACTERS}}}')
_GZIP: Final = b"\x1f\x8b"
# The last three by numbers and headers that the tar module does not check.
_NO_ARCHIVE: Final = (
    *(tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile),
    *(ValueError, OverflowError, RecursionError),
)
_RECORD: Final = "installed.json"
_RECORD_BYTES: Final = 4096

Sources = dict[str, bytes]
"""From a path with ``/``, as it is below ``host/``, to the file's content."""


_FRESH: Final = "; take a fresh clone, in which npm install was not run"


@frozen
class InstalledSources:
    """
    What ``host/installed.json`` says of the sources next to it.

    :ivar version: Of the plugin-bridge that installed them.
    :ivar digest: Of all of them, as they were then; see ``digest_of``.
    :ivar host: The name of the profile that they are for; empty: not known.
    :ivar given: Whether they are the user's, and not what came with plugin-bridge.
    """

    version: Annotated[str, string(64)]
    digest: Annotated[str, string(64, like="[0-9a-f]{64}", least=64)]
    host: str = ""
    given: bool = False


def read_sources(given: Path) -> Sources:
    """
    Read host sources.

    Reads ``packages`` and ``node_modules``, without hidden files.

    :param given: A directory or a tar archive which has ``packages/api/src`` and
        ``packages/host/src``, possibly below one folder.
    :raise SetupError: It cannot be read, or something in it cannot be installed.
    """
    try:
        if given.is_dir():
            return _directory(given)
        with given.open("rb") as file:
            return _archive(file)
    except _NO_ARCHIVE:
        raise SetupError("--host-sources: neither a directory nor a tar") from None
    except OSError as e:
        raise SetupError(f"--host-sources: cannot be read: {e.strerror}") from None


def _directory(given: Path) -> Sources:
    tops = [given, *sorted(path for path in given.iterdir() if path.is_dir())]
    for top in tops:
        if all((top / needed).is_file() for needed in _NEEDED):
            return _bounded(_listed(top))
    raise _incomplete()


def _listed(top: Path) -> Iterator[tuple[str, bytes]]:
    for wanted in _WANTED:
        for folder, folders, names in os.walk(top / wanted, onerror=_raise):
            if len(folder) - len(str(top)) > _PATH_CHARACTERS:
                raise SetupError(
                    f"--host-sources: over {_PATH_CHARACTERS} characters deep"
                )
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in [*folders, *names]:
                path = Path(folder, name)
                if path.is_symlink() and not name.startswith("."):
                    # npm links the packages of a checkout there.
                    fix = _FRESH if wanted == "node_modules" else ""
                    inside = path.relative_to(top).as_posix()
                    raise _refused(inside, f"symbolic link{fix}")
            for name in sorted(names):
                if not name.startswith("."):
                    yield _file(top, Path(folder, name))


def _raise(error: OSError) -> None:
    # There need be no node_modules.
    if not isinstance(error, FileNotFoundError):
        raise error


def _file(top: Path, path: Path) -> tuple[str, bytes]:
    inside = path.relative_to(top).as_posix()
    try:
        with open_regular(path) as file:
            return inside, file.read(HOST_SOURCE_BYTES + 1)
    except NotRegularError:
        raise _refused(inside, "device or a pipe") from None


def _archive(file: BinaryIO) -> Sources:
    packed = file.read(HOST_SOURCE_BYTES + 1)
    if packed.startswith(_GZIP):
        # Bounded here: the tar module would follow any size that a header claims.
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as unpacked:
            packed = unpacked.read(HOST_SOURCE_BYTES + 1)
    if len(packed) > HOST_SOURCE_BYTES:
        raise _too_large()
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:") as tar:
        most = len(packed) // tarfile.BLOCKSIZE
        return _below_top(_bounded(_members(tar, most)))


def _members(tar: tarfile.TarFile, most: int) -> Iterator[tuple[str, bytes]]:
    for number, member in enumerate(tar):
        if number == most:  # a negative size leads back
            raise tarfile.ReadError
        path = member.name.removeprefix("./")
        if member.isdir() or not _taken(path):
            continue
        content = tar.extractfile(member) if member.isreg() else None
        if content is None:
            raise _refused(path, "link or a device")
        if member.size > HOST_SOURCE_BYTES:  # a sparse one may claim any size
            raise _too_large()
        yield path, content.read()


def _taken(path: str) -> bool:
    """Whether it is of what is wanted, perhaps below a top folder."""
    parts = path.split("/")
    if parts[0] not in _WANTED and parts[1:2] not in ([name] for name in _WANTED):
        return False
    if _SAFE.fullmatch(path) is None or {"", ".", ".."}.intersection(parts):
        raise SetupError("--host-sources: the archive has an unsafe path")
    return not any(part.startswith(".") for part in parts[1:])


def _below_top(files: Mapping[str, bytes]) -> Sources:
    tops = {""} | {path.partition("/")[0] + "/" for path in files}
    for top in sorted(tops):
        if all(top + needed in files for needed in _NEEDED):
            found = [path for path in files if path.startswith(top)]
            inside = {path.removeprefix(top): files[path] for path in found}
            return {p: c for p, c in inside.items() if p.split("/")[0] in _WANTED}
    raise _incomplete()


def _bounded(found: Iterator[tuple[str, bytes]]) -> Sources:
    files: Sources = {}
    size = 0
    for path, content in found:
        files[path] = content
        size += len(content)
        if len(files) > HOST_SOURCE_FILES or size > HOST_SOURCE_BYTES:
            raise _too_large()
    return files


def _too_large() -> SetupError:
    return SetupError(
        f"--host-sources: more than {HOST_SOURCE_FILES} files, or "
        f"{HOST_SOURCE_BYTES} bytes"
    )


def _incomplete() -> SetupError:
    return SetupError(f"--host-sources: there is no {' and '.join(_NEEDED)}")


def _refused(path: str, what: str) -> SetupError:
    return SetupError(f"--host-sources: {shown(path)} is a {what}")


def digest_of(sources: Sources) -> str:
    """Return the SHA-256 of names and contents, in hexadecimal digits."""
    whole = sha256()
    for path in sorted(sources):
        name, content = path.encode("utf-8", "surrogateescape"), sources[path]
        whole.update(b"%d:%b%d:%b" % (len(name), name, len(content), content))
    return whole.hexdigest()


def installed_record(
    data: DataDir, folder: Path | None = None
) -> InstalledSources | None:
    """
    Return what is recorded of the sources in place; ``None`` when nothing is.

    :param folder: Another place than ``host/``.
    """
    try:
        folder = data.checked(folder or data.host)
        content = read_bounded(folder / _RECORD, _RECORD_BYTES)
        return structure(loads_unique(content), InstalledSources)
    except (OSError, BridgeError):
        return None


def check_directory_host(place: Paths) -> None:
    """
    Check that a data directory is not another host's, as far as it is known.

    :raise DataDirError: The sources in it are another host's.
    """
    record, name = installed_record(place.data), place.profile.name
    if record is not None and record.host not in ("", name):
        raise DataDirError(
            f"{place.data.root} is of the host {visible(record.host)}, not of {name}; "
            f"choose another directory for {name} with --data-dir"
        )


def installed_sources(folder: Path) -> Sources:
    """
    Read all that is in a folder like ``host/``, but for the record.

    :raise OSError: It can't be read, or something in it is a link.
    """
    found: Sources = {}
    for path in folder.rglob("*"):
        is_file = path.is_symlink() or not path.is_dir()
        if is_file and path != folder / _RECORD:
            inside = path.relative_to(folder).as_posix()
            found[inside] = read_bounded(path, HOST_SOURCE_BYTES)
    return found


def unmodified_sources(data: DataDir, folder: Path | None = None) -> Sources | None:
    """
    Read what is in place, if nobody changed it since it was installed.

    :param folder: See ``installed_record``.
    :return: ``None`` when somebody did, or nobody knows.
    """
    record = installed_record(data, folder)
    try:
        found = installed_sources(folder or data.host) if record else {}
    except OSError:
        return None
    return found if record and digest_of(found) == record.digest else None


def install_sources(
    sources: Sources,
    data: DataDir,
    version: str,
    host: str = "",
    *,
    given: bool = False,
    force: bool,
) -> bool:
    """
    Replace the content of ``host/`` by these sources, for the user alone.

    What was changed, or has no record, as VRCNext's earlier daemon had none, is kept as
    ``host.1``.

    :param version: Of this plugin-bridge; recorded, as ``host`` and ``given`` are.
    :param force: Even if they are already installed.
    :return: Whether anything was written.
    :raise SetupError: Not only sources are in place, and no setup installed them.
    :raise OSError: It could not be done; the old sources are in place.
    """
    end_replacement(data)
    _check_replaceable(data)
    record = InstalledSources(version, digest_of(sources), host, given)
    in_place = installed_record(data) == record and unmodified_sources(data) is not None
    if in_place and not force:
        return False
    try:
        recorded = {_RECORD: dumps(unstructure(record))}
        write_files(data.host_new, sources | recorded)
        if hasattr(os, "sync"):  # once for all of them: there may be thousands
            os.sync()
        if data.host.exists():
            data.host.rename(data.host_old)
        data.host_new.rename(data.host)
    finally:
        end_replacement(data)
    sync_directory(data.root)
    return True


def _check_replaceable(data: DataDir) -> None:
    host = data.host
    found = {path.name for path in host.iterdir()} if host.exists() else set()
    if found - {*_WANTED, _RECORD} and installed_record(data) is None:
        raise SetupError(
            f"{host} is not what setup installed; move it away, or choose another "
            "directory with --data-dir"
        )


def end_replacement(data: DataDir) -> None:
    """End a replacement, also one that was killed: the old sources stay, or the new."""
    old = data.host_old
    if old.exists() and not data.host.exists():
        old.rename(data.host)
    if old.exists() and any(old.iterdir()) and unmodified_sources(data, old) is None:
        old.rename(next(path for path in _kept_paths(data) if not path.exists()))
    with suppress(OSError):
        remove(data.host_new)
    if old.exists():
        # A kill leaves a part of it, which must not look like changed sources.
        old.rename(data.host_new)
        with suppress(OSError):
            remove(data.host_new)


def _kept_paths(data: DataDir) -> Iterator[Path]:
    # With names that ``remove`` knows.
    return (data.host.with_name(f"{data.host.name}.{n}") for n in count(1))


def kept_sources(data: DataDir) -> list[Path]:
    """Return where sources are kept that setup replaced, but had not installed so."""
    return list(takewhile(Path.exists, _kept_paths(data)))
