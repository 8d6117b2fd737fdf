"""What a build needs: files in the data directory, and a place to publish."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ...datadir.ownership import check, check_above
from ..esbuild.pins import BINARY_NAME, CHECKSUM_NAME

HOST_ENTRY: Final = "host/packages/host/src/index.ts"
API_ENTRY: Final = "host/packages/api/src/index.ts"
REALM_ENTRY: Final = "host/packages/host/src/realm/runtime.ts"
"""What runs before a plugin that is a text; see ``HostProfile.plugins``."""

MADE: Final = "build/"
"""What is made for a build, below the data directory."""

TABLE_FILE: Final = f"{MADE}static-plugins.ts"
"""Where the table of plugins is."""

BUNDLER_FILES: Final = (f"bin/{BINARY_NAME}", f"bin/{CHECKSUM_NAME}")
"""Paths of the bundler, relative to the data directory."""

HOST_FILES: Final = (HOST_ENTRY, API_ENTRY)
"""Paths of the host's sources, relative to the data directory."""


def missing_files(root: Path, paths: Iterable[str]) -> list[str]:
    """
    Return those of ``paths`` that are not files, or can't be looked at.  Blocks.

    :param root: The data directory.
    """
    # Unlike ``Path.is_file``, it raises nothing for what is in a closed directory.
    return [path for path in paths if not os.path.isfile(root / path)]


def check_publishable(folder: Path) -> None:
    """
    Check that no other user can publish in the theme's folder, or in its place.

    :raise NotOwnError: Others can.
    """
    themes = folder.parent
    check_above(themes, "--theme-dir")
    check(themes)
    check(folder)
