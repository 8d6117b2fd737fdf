"""
``plugin-bridge sign``: writes the ``plugin.sig`` of a plugin's tree.

In a git work tree the committed bytes are signed, not those on disk: they are what
a clone gets, whatever line endings and filters made of the files here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

from twisted.python import usage

from ....datadir.paths import write_atomically
from ....plugins.tree.manifest import load_manifest
from ....plugins.tree.signature import key_id, public_key_of, sign_tree
from ....plugins.tree.tree import SIGNATURE_FILE, Tree, read_tree
from ....protocol.errors import BridgeError
from ....settings.host import ProfileError, load_profile
from ....settings.options import HostOptions
from ...authoring.keyfiles import KEY_HELP, chosen_key
from ...authoring.signing import check_clean, check_key_outside, tracked_files
from ...authoring.worktree import is_work_tree
from ...terminal import CommandError, DirectoryArgument, failed


class SignOptions(DirectoryArgument, HostOptions):
    """The command line of ``plugin-bridge sign``."""

    synopsis = "Usage: plugin-bridge sign [--key FILE] [--host NAME|PATH] DIR"
    longdesc = (
        "Signs the plugin in DIR and writes its plugin.sig. In a git work tree it "
        "signs the committed files, and refuses to sign if anything is not committed."
    )
    optParameters: ClassVar[list[list[str | None]]] = [["key", "k", None, KEY_HELP]]


def main(arguments: list[str]) -> int:
    """Sign a plugin and return the exit status."""
    options = SignOptions()
    options.parseOptions(arguments)
    return sign(options)


def sign(
    options: SignOptions,
    environ: Mapping[str, str] = os.environ,
    now: Callable[[], float] = time.time,
) -> int:
    """
    Sign a plugin.

    :param now: Seconds since the epoch.
    :return: The exit status: 0, or 1 after a line on standard error.
    :raise usage.UsageError: There is no such host.
    """
    try:
        profile = load_profile(options.value("host", environ))
    except ProfileError as e:
        raise usage.UsageError(f"--host: {e}") from None
    root = Path(options["directory"])
    try:
        key = chosen_key(options["key"], environ)
        tree = _committed(root) if is_work_tree(root) else read_tree(root)
        manifest = load_manifest(tree, profile)
        check_key_outside(key, root, tree.files)
        text = sign_tree(tree, manifest.id, profile, key.seed, int(now()))
        write_atomically(root / SIGNATURE_FILE, text, 0o644)
    except BridgeError as e:
        return failed("sign", e.message)
    except CommandError as e:
        return failed("sign", str(e))
    except OSError as e:
        return failed("sign", f"{SIGNATURE_FILE} cannot be written: {e.strerror}")
    print(f"signed       {manifest.id} {manifest.version} for {profile.application}")
    print(f"fingerprint  {key_id(public_key_of(key.seed))}")
    print(f"wrote        {root / SIGNATURE_FILE}")
    print("Commit it and push. After any other change to the tree, sign again.")
    return 0


def _committed(root: Path) -> Tree:
    check_clean(root, {SIGNATURE_FILE})
    return Tree(tracked_files(root))
