"""``plugin-bridge keys``: the authors' keys that were accepted."""

from __future__ import annotations

from typing import Any

from ....protocol.text import timestamp, visible
from ...asking.session import EXIT_STATUS, ManageOptions, Session, manage


class KeysOptions(ManageOptions):
    """The command line of ``plugin-bridge keys``."""

    synopsis = "Usage: plugin-bridge keys [--json] [--host NAME|PATH]"
    longdesc = (
        "Lists the authors' keys that you have accepted, the last used first: the "
        "fingerprint, when it was accepted, and the installed plugins it has signed. "
        + EXIT_STATUS
    )


def main(arguments: list[str]) -> int:
    """List the accepted keys and return the exit status."""
    options = KeysOptions()
    options.parseOptions(arguments)
    return manage("keys", options, show)


def show(session: Session) -> int:
    """List the accepted keys; return the exit status."""
    result = session.call("plugins", "keys")
    lines = [_line(key) for key in result["keys"]]
    session.print(result, lines or ["no key is accepted"])
    return 0


def _line(key: dict[str, Any]) -> str:
    day = timestamp(key["trustedAt"] / 1000, "seconds")[:10]
    signed = ", ".join(key["installed"]) or "nothing that is installed"
    return visible(f"{key['keyId']}  accepted {day}  signed {signed}")
