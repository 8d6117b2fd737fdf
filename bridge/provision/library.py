"""
The view library of the reference host's page: preact, from npm, pinned by its digest.

It is in no repository of ours.  The wheel and the Debian package contain the package as
npm has it; everywhere else ``setup`` downloads it, as it does the bundler.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..datadir.paths import DataDir
from ..plugins.tree.files import TooLargeError, read_bounded
from ..protocol.limits import BUNDLER_BYTES
from .bundlersource import SHIPPED
from .hostsources import Sources, unmodified_sources
from .npm import SetupError, integrity, pack

NAME: Final = "preact"
VERSION: Final = "11.2.0"
PACKAGE: Final = f"{NAME}@{VERSION}"
"""The package in its version, as npm's command line takes it."""

FILE: Final = f"{NAME}-{VERSION}.tgz"
"""The name that ``npm pack`` gives it."""

INTEGRITY: Final = (
    "/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGHe1sR6oYuTGwId0nP7dqDU9OnLxMPZ7x"
    "Bg=="
)
"""The package's digest, as npm publishes it: SHA-512, base64."""

FOLDER: Final = f"node_modules/{NAME}/"
"""Where it is below ``host/``."""

_WANTED: Final = re.compile(r"package/(LICENSE|(?:hooks/)?src/[\w./-]+)")

# The published one names minified files, whose source maps lead out of the bundle.
_DESCRIPTION: Final = {
    "name": NAME,
    "version": VERSION,
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
    try:
        return _verified(read_bounded(given.resolve(), BUNDLER_BYTES))
    except TooLargeError:
        raise _other() from None
    except OSError as e:
        raise SetupError(f"the library cannot be read: {e.strerror}") from None


def _verified(content: bytes) -> bytes:
    if integrity(content) != INTEGRITY:
        raise _other()
    return content


def _other() -> SetupError:
    return SetupError(
        f"the file does not have the digest of {PACKAGE}; it was not installed"
    )


def find_library(environ: Mapping[str, str], shipped: Path = SHIPPED) -> bytes:
    """
    Find the package: where our package put it, or through the user's npm.

    :raise SetupError: It was not found; the message shows the command to run.
    """
    if (shipped / FILE).exists():
        return read_library(shipped / FILE)
    try:
        packed = pack(PACKAGE, environ)
    except SetupError as e:
        raise SetupError(
            f"the page's library {NAME} is missing, and {e}; run this where npm works: "
            f"npm pack {PACKAGE} && plugin-bridge setup --library {FILE}"
        ) from None
    return _verified(packed)


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
    path = shipped / FILE
    return library_files(read_library(path)) if path.exists() else {}


def library_files(package: bytes) -> Sources:
    """
    Unpack what the host's bundle is made of.

    :param package: Verified.
    :return: Readable sources and types, the licence, and a description that names them.
    """
    files = {f"{FOLDER}package.json": _described()}
    with tarfile.open(fileobj=io.BytesIO(package), mode="r:gz") as tar:
        for member in tar:
            wanted = _WANTED.fullmatch(member.name)
            content = tar.extractfile(member) if wanted and member.isreg() else None
            if wanted and content is not None:
                files[FOLDER + wanted[1]] = content.read()
    return files


def _described() -> bytes:
    return (json.dumps(_DESCRIPTION, indent=2) + "\n").encode()
