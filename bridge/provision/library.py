"""
The view library of the reference host's page: preact, from npm, pinned by its digest.

It is in no repository of ours.  The wheel and the Debian package contain the package as
npm has it; everywhere else ``setup`` downloads it, as it does the bundler.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..datadir.paths import DataDir
from .bundlersource import SHIPPED
from .hostsources import Sources, unmodified_sources
from .npm import NpmPackage, unpacked

LIBRARY: Final = NpmPackage(
    "preact",
    "11.2.0",
    "/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGHe1sR6oYuTGwId0nP7dqDU9OnLxMPZ7x"
    "Bg==",
    "library",
)
"""The package."""

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
