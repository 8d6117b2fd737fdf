"""``plugin-bridge verify``: how the daemon verifies a plugin's signature."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from ....plugins.tree.manifest import load_manifest
from ....plugins.tree.signature import verify_tree
from ....protocol.errors import BridgeError
from ....protocol.text import iso_time
from ....settings.options import HostOptions
from ...authoring.worktree import published_tree
from ...terminal import CommandError, DirectoryArgument, failed, print_json


class VerifyOptions(DirectoryArgument, HostOptions):
    """The command line of ``plugin-bridge verify``."""

    synopsis = "Usage: plugin-bridge verify [--json] [--host NAME|PATH] DIR"
    longdesc = (
        "Verifies the signature of the plugin in DIR as the daemon does, and prints "
        "the fingerprint of the key. It does not check whether the key is trusted. In "
        "a git work tree it ignores what git ignores."
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["json", None, "print one JSON object"]
    ]


def main(arguments: list[str]) -> int:
    """Verify a plugin and return the exit status."""
    options = VerifyOptions()
    options.parseOptions(arguments)
    return verify(options)


def verify(options: VerifyOptions, now: Callable[[], float] = time.time) -> int:
    """
    Verify a plugin.

    :param now: Seconds since the epoch.
    :return: The exit status: 0, or 1 after a line on standard error.
    :raise ConfigError: There is no such host.
    """
    profile = options.paths().profile
    as_json = bool(options["json"])
    try:
        tree = published_tree(Path(options["directory"]))
        manifest = load_manifest(tree, profile)
        signed = verify_tree(tree, manifest.id, profile, now())
    except BridgeError as e:
        return failed("verify", e.message, as_json)
    except CommandError as e:
        return failed("verify", str(e), as_json)
    if as_json:
        found = {
            "id": manifest.id,
            "version": manifest.version,
            "keyId": signed.key_id,
            "signedAt": signed.signed_at,
        }
        print_json(found, False)
        return 0
    print(f"signed       {manifest.id} {manifest.version}")
    print(f"fingerprint  {signed.key_id}")
    if signed.signed_at:
        print(f"dated        {iso_time(signed.signed_at * 1000)} (by its author)")
    return 0
