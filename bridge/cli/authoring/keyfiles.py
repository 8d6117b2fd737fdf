"""Where authors keep their signing keys: the file, or a variable."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Final

import platformdirs

from ...classes import frozen
from ..command import path_option
from ..terminal import CommandError, reported

KEY_VARIABLE: Final = "BRIDGE_SIGNING_KEY"
key_option = path_option(
    "--key",
    "-k",
    metavar="FILE",
    help=f"The key file.  [default: (the 64 digits in {KEY_VARIABLE}, or else the file "
    "that keygen creates)]",
)

SEED_BYTES: Final = 32
_KEY_FILE_BYTES: Final = 4096
_SEED = re.compile(r"[0-9A-Fa-f]{64}")


def default_key_file() -> Path:
    """Return the default path of a signing key, outside every plugin's tree."""
    return platformdirs.user_config_path("plugin-bridge") / "signing-key"


@frozen
class SigningKey:
    """A signing key, and the file it was read from, if any."""

    seed: bytes
    file: Path | None


def chosen_key(chosen: Path | None) -> SigningKey:
    """
    Read the key that ``key_option`` describes.

    :param chosen: What ``--key`` names.
    :raise CommandError: It cannot be read, or is no key.
    """
    text = "" if chosen else os.environ.get(KEY_VARIABLE, "")
    file = None if text else chosen or default_key_file()
    text = (_read(file) if file else text).strip()
    if _SEED.fullmatch(text) is None:
        where = file or KEY_VARIABLE
        raise CommandError(f"{where} does not hold 64 hexadecimal digits")
    return SigningKey(bytes.fromhex(text), file)


def _read(path: Path) -> str:
    with reported(f"{path} cannot be read"):
        try:
            with path.open("rb") as file:
                return file.read(_KEY_FILE_BYTES).decode("ascii", "replace")
        except FileNotFoundError:
            create = "plugin-bridge keygen"
            if path != default_key_file():
                create += f" --out {shlex.quote(str(path))}"
            why = f"there is no key file {path}; to create one, run: {create}"
            raise CommandError(why) from None
