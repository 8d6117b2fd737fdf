"""
The view library of the reference page, copied into ``bridge/reference/node_modules``.

``python -m tests.reference.vendored`` copies it from the package that npm downloads
and verifies.  To move to another version, change ``PREACT`` and the ``package.json``
there, then run it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from ..npm import npm_package
from .bundling import REFERENCE

PREACT: Final = "preact@11.2.0"
"""The package and its exact version."""

HERE: Final = REFERENCE / "node_modules" / "preact"
OWN: Final = frozenset({"package.json"})
"""Not copied: ours names the readable sources, where theirs names minified ones."""

_WANTED: Final = ("LICENSE", "src/**/*", "hooks/src/*")


def published() -> dict[str, bytes]:
    """Return the files to copy: from the path in the package to the content."""
    package = npm_package(PREACT)
    found = (path for pattern in _WANTED for path in package.glob(pattern))
    return {
        path.relative_to(package).as_posix(): path.read_bytes()
        for path in found
        if path.is_file()
    }


def copied(top: Path = HERE) -> dict[str, bytes]:
    """Return what is in the checkout, in the same form."""
    found = (path for path in top.rglob("*") if path.is_file())
    files = {path.relative_to(top).as_posix(): path.read_bytes() for path in found}
    return {path: content for path, content in files.items() if path not in OWN}


def main() -> None:
    """Replace the copy."""
    for folder in ("src", "hooks"):
        shutil.rmtree(HERE / folder, ignore_errors=True)
    for path, content in published().items():
        file = HERE / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


if __name__ == "__main__":
    main()
