"""Fetch each pinned package once, and read the sources the corpus uses."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path
from typing import Final

from bridge.plugins.esbuild.language import LOADERS
from bridge.plugins.tree.tree import is_test_name
from bridge.protocol.limits import SOURCE_BYTES

from ..npm import ROOT, extract, locked, packed
from .packages import Package

CACHE: Final = ROOT / ".cache" / "honest"
_DECLARATIONS: Final = re.compile(r"\.d\.[cm]?ts$")


def unpacked(package: Package) -> Path:
    """Where the files of a package are; they are fetched if they are absent."""
    directory = CACHE / f"{package.name.replace('/', '+')}@{package.version}"
    with locked(CACHE):
        if not directory.exists():
            partial = CACHE / "partial"
            shutil.rmtree(partial, ignore_errors=True)
            extract(packed(package.spec), partial)
            # Most archives call their one directory "package", not all.
            (only,) = partial.iterdir()
            only.rename(directory)
    return directory


def sources(package: Package) -> dict[str, bytes]:
    """
    Return the sources of a package, by path with ``/``, in order.

    :raise AssertionError: They are not the pinned ones.
    """
    found = read_sources(package)
    assert digest(found) == package.digest, (
        f"the sources of {package.spec} are not the pinned ones: {digest(found)}"
    )
    return found


def read_sources(package: Package) -> dict[str, bytes]:
    """Return the sources of a package, whatever they are."""
    root = unpacked(package)
    files = {path for pattern in package.patterns for path in root.glob(pattern)}
    names = sorted(path.relative_to(root).as_posix() for path in files)
    return {
        name: (root / name).read_bytes()
        for name in names
        if _is_wanted(root / name, package)
    }


def digest(files: dict[str, bytes]) -> str:
    """Return the SHA-256 of paths and contents, in hexadecimal."""
    whole = hashlib.sha256()
    for name, content in sorted(files.items()):
        whole.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return whole.hexdigest()


def _is_wanted(path: Path, package: Package) -> bool:
    if path.suffix not in LOADERS or not path.is_file():
        return False
    # Declarations compile to nothing: one package of them is enough.
    if _DECLARATIONS.search(path.name) and not package.has_declarations:
        return False
    return not is_test_name(path.name) and path.stat().st_size <= SOURCE_BYTES
