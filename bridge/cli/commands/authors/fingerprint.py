"""``plugin-bridge fingerprint``: what users compare an author's key by."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar

from ....plugins.tree.signature import key_id, public_key_of
from ....settings.options import TableOptions
from ...authoring.keyfiles import KEY_HELP, chosen_key
from ...terminal import CommandError, failed, print_json


class FingerprintOptions(TableOptions):
    """The command line of ``plugin-bridge fingerprint``."""

    synopsis = "Usage: plugin-bridge fingerprint [--json] [--key FILE]"
    longdesc = "Prints the fingerprint of your signing key, which users compare."
    optParameters: ClassVar[list[list[str | None]]] = [["key", "k", None, KEY_HELP]]
    optFlags: ClassVar[list[list[str | None]]] = [
        ["json", None, "print one JSON object"]
    ]


def main(arguments: list[str]) -> int:
    """Print the fingerprint and return the exit status."""
    options = FingerprintOptions()
    options.parseOptions(arguments)
    return fingerprint(options)


def fingerprint(
    options: FingerprintOptions, environ: Mapping[str, str] = os.environ
) -> int:
    """
    Print the fingerprint of a key, and nothing else.

    :return: The exit status: 0, or 1 after a line on standard error.
    """
    as_json = bool(options["json"])
    try:
        key = chosen_key(options["key"], environ)
    except CommandError as e:
        return failed("fingerprint", str(e), as_json)
    found = key_id(public_key_of(key.seed))
    if as_json:
        print_json({"keyId": found}, False)
    else:
        print(found)
    return 0
