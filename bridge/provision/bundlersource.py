"""
Sources of the bundler for ``plugin-bridge setup``.

Only the bytes that ``bridge.plugins.esbuild.pins`` names are installed, from wherever.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..datadir.paths import DataDir, write_atomically
from ..plugins.esbuild.executable import BundlerError, read_checksum
from ..plugins.esbuild.pins import BINARY_NAME, CHECKSUM_NAME, VERSION, Pin
from ..plugins.tree.files import read_bounded
from ..protocol.limits import BUNDLER_BYTES
from .npm import NpmPackage, unpacked

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


def find_bundler(
    pin: Pin, environ: Mapping[str, str], shipped: Path = SHIPPED
) -> bytes:
    """
    Find the bundler: where our package put it, or through the user's npm.

    :raise SetupError: It was not found; the message shows the command to run.
    """
    path = shipped / BINARY_NAME
    if path.exists():
        return read_bundler(path, pin)
    return _binary(_package(pin).download(environ), pin)


def installed_bundler(data: DataDir, pin: Pin) -> bool:
    """Whether the pinned bundler and its checksum file are in place."""
    executable = os.access(data.bin / BINARY_NAME, os.X_OK)
    return executable and _runnable(data) == pin.binary


def would_run(data: DataDir) -> bool:
    """Whether the bundler matches its checksum file, so that the daemon runs it."""
    return _runnable(data) is not None


def _runnable(data: DataDir) -> str | None:
    """Return the bundler's digest if its checksum file has the same one."""
    try:
        named = read_checksum(data.checked(data.bin))
        binary = read_bounded(data.bin / BINARY_NAME, BUNDLER_BYTES)
    except (OSError, BundlerError):
        return None
    digest = hashlib.sha256(binary).hexdigest()
    return digest if digest == named else None


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
