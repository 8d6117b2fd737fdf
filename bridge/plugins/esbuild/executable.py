"""
The bundler's binary: its version, its digests on every system it runs on, and a
verified copy of it that no other program can change.

The bytes that were hashed are the bytes that run: they are hashed while they are
copied, and the copy is what runs.  On Linux it is a sealed file in memory, which needs
no room on a disk, and no file system that runs programs.  Elsewhere it is a file in a
private directory.

Everything here blocks; the caller runs it in a thread, and has checked who may write
the bundler's directory.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final
from weakref import finalize

from attrs import field

from ...classes import define, frozen
from ...protocol.limits import BUNDLER_BYTES, KIB, MIB
from ...system.files import (
    NotRegularError,
    create,
    create_in_memory,
    open_regular,
    path_of,
    read_bounded,
    seal,
)

VERSION: Final = "0.28.2"

BINARY_NAME: Final = "esbuild.exe" if os.name == "nt" else "esbuild"
CHECKSUM_NAME: Final = "esbuild.sha256"

BUNDLER_FILES: Final = (f"bin/{BINARY_NAME}", f"bin/{CHECKSUM_NAME}")
"""Paths of the bundler, relative to the data directory."""

_CHECKSUM: Final = re.compile(r"[0-9a-f]{64}")
_CHECKSUM_FILE_BYTES: Final = 4 * KIB
_CHUNK_BYTES: Final = MIB


class BundlerError(Exception):
    """Why the bundler cannot be used; one readable sentence."""


@frozen
class Pin:
    """
    The bundler for one system.

    :ivar platform: As npm names it, such as ``linux-x64``.
    :ivar tarball: The npm package's digest: SHA-512, base64.
    :ivar binary: The binary's digest: SHA-256, lower-case hexadecimal.
    """

    platform: str
    tarball: str
    binary: str

    @property
    def name(self) -> str:
        """The npm package's name."""
        return f"@esbuild/{self.platform}"

    @property
    def member(self) -> str:
        """Where the binary is in the package."""
        windows = self.platform.startswith("win32")
        return "package/esbuild.exe" if windows else "package/bin/esbuild"


# What npm calls otherwise than Python does.
_SYSTEMS: Final = {"windows": "win32"}
_MACHINES: Final = {
    "x86_64": "x64",
    "amd64": "x64",
    "aarch64": "arm64",
    "armv6l": "arm",
    "armv7l": "arm",
    "i386": "ia32",
    "i686": "ia32",
    "x86": "ia32",
    "ppc64le": "ppc64",
    "loongarch64": "loong64",
}


_TABLE: Final = json.loads((Path(__file__).parent / "pins.json").read_text("ascii"))

PINS: Final = [Pin(name, **digests) for name, digests in _TABLE.items()]
"""
Every pin, whose digests npm's registry publishes.

Read at the start: a daemon whose files are replaced never has those of two versions.
"""


def pin_for(
    system: str = platform.system(), machine: str = platform.machine()
) -> Pin | None:
    """Return the bundler for a system, or ``None``; see ``PINS``."""
    kind, cpu = system.lower(), machine.lower()
    name = f"{_SYSTEMS.get(kind, kind)}-{_MACHINES.get(cpu, cpu)}"
    return next((pin for pin in PINS if pin.platform == name), None)


@frozen(eq=False)
class Executable:
    """
    A verified copy of the bundler; one of our making goes with this object.

    :ivar path: What to run.
    :ivar fix: What to run when it turns out to be of another version.
    """

    path: str
    fix: str


def read_checksum(directory: Path) -> str:
    """
    Return the digest in the first word of the checksum file.

    :param directory: The bundler's.
    :return: 64 lower-case hexadecimal digits.
    :raise BundlerError: There is no such file, or no digest in it.
    """
    words: list[bytes] = []
    with contextlib.suppress(OSError):
        words = read_bounded(directory / CHECKSUM_NAME, _CHECKSUM_FILE_BYTES).split()
    digest = words[0].decode("ascii", "replace").lower() if words else ""
    if _CHECKSUM.fullmatch(digest):
        return digest
    raise BundlerError(f"bin/{CHECKSUM_NAME} does not hold a SHA-256 digest")


@define(eq=False, repr=False)
class HeldCopy:
    """
    The verified copy in memory, kept while the bundler stays the same.

    What runs is what was hashed, as ever: the copy.  It is made again when the file is
    another, or when the checksum file names another digest.  Where there are no files
    in memory, each use has a copy of its own.

    :ivar fix: What to run when the bundler cannot be used.
    """

    _fix: str
    _lock: Lock = field(factory=Lock, init=False)
    _copy: Executable | None = field(default=None, init=False)
    _of: tuple[str | int, ...] = field(default=(), init=False)

    def get(self, directory: Path) -> Executable:
        """
        Return a verified copy.

        :param directory: The one with the binary and its checksum file.
        :raise BundlerError: There is no bundler, or it is not what the checksum file
            names.
        :raise OSError: It cannot be read, or there is no room for a copy.
        """
        try:
            return self._verified(directory)
        except BundlerError as e:
            raise BundlerError(f"{e}; {self._fix}") from None

    def _verified(self, directory: Path) -> Executable:
        binary = directory / BINARY_NAME
        for name in (BINARY_NAME, CHECKSUM_NAME):
            if not (directory / name).exists():
                raise BundlerError(f"bundler missing: there is no bin/{name}")
        with self._lock:
            digest, found = read_checksum(directory), binary.stat()
            # No call sets the time of the last change, which every change changes.
            of = (digest, found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns)
            if self._of != of:
                self._copy, self._of = None, ()
                with contextlib.suppress(OSError):
                    self._copy = self._owned(*_copy_in_memory(binary, digest))
                    self._of = of
            return self._copy or self._owned(*_named_copy(binary, digest))

    def _owned(self, path: str, remove: Callable[[], object]) -> Executable:
        """Return the copy at a path, removed when the last reference to it goes."""
        made = Executable(path, self._fix)
        finalize(made, remove)
        return made


def _copy_in_memory(binary: Path, digest: str) -> tuple[str, Callable[[], object]]:
    fd = create_in_memory()
    try:
        _copy(binary, fd, digest)
        fd = seal(fd)
    except BaseException:
        os.close(fd)
        raise
    return path_of(fd), partial(os.close, fd)


def _named_copy(binary: Path, digest: str) -> tuple[str, Callable[[], object]]:
    directory = Path(tempfile.mkdtemp(prefix="plugin-bridge-"))
    remove = partial(shutil.rmtree, directory, ignore_errors=True)
    copy = directory / BINARY_NAME
    try:
        # Closed before it runs: no system runs a file that is open for writing.
        with create(copy, 0o500) as file:
            _copy(binary, file.fileno(), digest)
    except BaseException:
        # At once: the exception keeps this frame, and so whatever it owns.
        remove()
        raise
    return str(copy), remove


def _copy(binary: Path, to: int, digest: str) -> None:
    """Copy a file, whose digest is that of what was written."""
    hashed, left = hashlib.sha256(), BUNDLER_BYTES
    try:
        with open_regular(binary) as file, open(to, "wb", closefd=False) as copy:
            while chunk := file.read(_CHUNK_BYTES):
                left -= len(chunk)
                if left < 0:
                    raise BundlerError(
                        f"bin/{BINARY_NAME} is over {BUNDLER_BYTES} bytes"
                    )
                hashed.update(chunk)
                copy.write(chunk)
    except NotRegularError:
        raise BundlerError(f"bin/{BINARY_NAME} is not a regular file") from None
    if hashed.hexdigest() != digest:
        raise BundlerError(
            f"esbuild checksum mismatch: bin/{BINARY_NAME} is not what "
            f"bin/{CHECKSUM_NAME} says, so it was not run"
        )
