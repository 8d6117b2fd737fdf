"""``plugin-bridge keygen``: makes an author's signing key."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import ClassVar

from ....plugins.tree.signature import key_id, public_key_of
from ....settings.options import TableOptions
from ...authoring.keyfiles import SEED_BYTES, default_key_file, write_seed
from ...terminal import failed


class KeygenOptions(TableOptions):
    """The command line of ``plugin-bridge keygen``."""

    synopsis = "Usage: plugin-bridge keygen [--out FILE]"
    longdesc = (
        "Creates a signing key and prints its fingerprint, which users compare. Anyone "
        "who has the key file can sign as you: keep a backup, and never publish it."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        [
            "out",
            "o",
            None,
            "the file to create (default: plugin-bridge/signing-key in the user's "
            "configuration directory); an existing file is never replaced",
        ]
    ]


def main(arguments: list[str]) -> int:
    """Make a signing key and return the exit status."""
    options = KeygenOptions()
    options.parseOptions(arguments)
    return keygen(options)


def keygen(options: KeygenOptions) -> int:
    """
    Make a signing key.

    :return: The exit status: 0, or 1 after a line on standard error.
    """
    chosen = options["out"]
    path = Path(chosen) if chosen else default_key_file()
    seed = secrets.token_bytes(SEED_BYTES)
    try:
        if not chosen:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_seed(path, seed)
    except FileExistsError:
        return failed("keygen", f"{path} exists already; keygen never replaces a key")
    except OSError as e:
        return failed("keygen", f"{path} cannot be created: {e.strerror}")
    print(f"key file     {path} (keep a backup; never publish it)")
    print(f"fingerprint  {key_id(public_key_of(seed))} (publish it for users)")
    return 0
