"""
What ``plugin-bridge setup`` downloads: the bundler, and the view library of its page.

Only the bytes that ``bridge.plugins.esbuild.pins`` or ``LIBRARY`` name are installed,
from wherever.  The library, preact, is in no repository of ours: the wheel and the
Debian package contain its package as npm has it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..datadir.paths import DataDir, write_atomically
from ..plugins.esbuild.executable import BundlerError, read_checksum
from ..plugins.esbuild.pins import BINARY_NAME, CHECKSUM_NAME, VERSION, Pin
from ..protocol.limits import BUNDLER_BYTES
from ..system.files import read_bounded
from .hostsources import Sources, unmodified_sources
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


def bundler_at_hand(pin: Pin, shipped: Path = SHIPPED) -> bytes | None:
    """
    Return the bundler where our package put it.

    :raise SetupError: What is there is not the pinned one.
    """
    path = shipped / BINARY_NAME
    return read_bundler(path, pin) if path.exists() else None


def find_bundler(
    pin: Pin, environ: Mapping[str, str], shipped: Path = SHIPPED
) -> bytes:
    """
    Find the bundler: where our package put it, or through the user's npm.

    :raise SetupError: It was not found; the message shows the command to run.
    """
    found = bundler_at_hand(pin, shipped)
    return found or _binary(_package(pin).download(environ), pin)


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


def find_library(environ: Mapping[str, str], shipped: Path = SHIPPED) -> bytes:
    """
    Find the package: where our package put it, or through the user's npm.

    :raise SetupError: It was not found; the message shows the command to run.
    """
    path = shipped / LIBRARY.file
    return read_library(path) if path.exists() else LIBRARY.download(environ)


def installed_library(data: DataDir) -> Sources:
    """
    Return the library in place, if it is of the pinned version and nobody changed it.

    :return: Its files, as ``library_files`` gives them; nothing otherwise.
    """
    sources = unmodified_sources(data) or {}
    if sources.get(f"{FOLDER}package.json") != _described():
        return {}
    return {path: sources[path] for path in sources if path.startswith(FOLDER)}


def library_at_hand(data: DataDir, shipped: Path = SHIPPED) -> Sources:
    """
    Return the library without npm: the one in place, or that of our package.

    :return: As ``installed_library``.
    :raise SetupError: That of our package is not the pinned one.
    """
    if found := installed_library(data):
        return found
    path = shipped / LIBRARY.file
    return library_files(read_library(path)) if path.exists() else {}


def needs_npm(data: DataDir, pin: Pin, shipped: Path = SHIPPED) -> bool:
    """
    Whether a setup downloads the bundler or the library.

    :raise SetupError: What is in our package is not the pinned one.
    """
    bundler = installed_bundler(data, pin) or bundler_at_hand(pin, shipped)
    return not (bundler and library_at_hand(data, shipped))


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
