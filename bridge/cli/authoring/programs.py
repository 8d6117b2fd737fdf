"""
Where the programs are found that read an author's tree: never in the tree itself.

To run one of the tree's would be to run the plugin.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def search_path(root: Path) -> str:
    """
    Return where programs may be looked for.

    :param root: The author's directory.
    """
    folders = os.environ.get("PATH", "").split(os.pathsep)
    return os.pathsep.join(
        folder
        for folder in folders
        if os.path.isabs(folder) and not _is_inside(folder, root)
    )


def find_program(name: str, root: Path) -> str | None:
    """Return the path of a program on ``PATH``, outside the author's directory."""
    path = shutil.which(name, path=search_path(root))
    return None if path is None or _is_inside(path, root) else path


def _is_inside(path: str, root: Path) -> bool:
    try:
        return Path(path).resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        return True  # a loop of links leads nowhere
