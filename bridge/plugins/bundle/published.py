"""What is published in the theme's folder, as a start finds it."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from pathlib import Path
from typing import Final

from ...protocol.errors import BridgeError
from ...protocol.limits import BUILD_BUNDLE_BYTES, MANIFEST_BYTES
from ...protocol.strictjson import loads
from ..tree.files import read_bounded

INFO_FILE: Final = "info.json"
"""What the bundle was built of."""

STAGING_PREFIX: Final = ".build-"
"""Of the directory that a build works in; a killed one leaves it."""


def is_current(bundle: Path, version: str, recorded: Collection[str]) -> bool:
    """
    Whether there is a bundle that a build at the start would only repeat.  Blocks.

    It is not when there is none, when a killed build has left files that don't belong
    together, when another version has built it, or with linked trees or plugins that
    are not installed in it.

    :param bundle: Its file.
    :param version: Of this daemon.
    :param recorded: The ids of the installed plugins.
    """
    try:
        info = loads(read_bounded(bundle.with_name(INFO_FILE), MANIFEST_BYTES))
        content = read_bounded(bundle, BUILD_BUNDLE_BYTES)
    except (OSError, BridgeError):
        return False
    if type(info) is not dict or "dev" in info or info.get("version") != version:
        return False
    plugins = info.get("plugins")
    if type(plugins) is not list or not set(map(str, plugins)).issubset(recorded):
        return False
    return bool(info.get("sha256") == sha256(content).hexdigest())
