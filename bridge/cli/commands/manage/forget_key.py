"""``plugin-bridge forget-key``: stops trusting an author's key."""

from __future__ import annotations

from ...asking.session import EXIT_STATUS, PROMPTED, ManageOptions, Session, manage


class ForgetKeyOptions(ManageOptions):
    """The command line of ``plugin-bridge forget-key``."""

    synopsis = "Usage: plugin-bridge forget-key [--json] [--host NAME|PATH] KEYID"
    longdesc = (
        "Has the running daemon stop trusting an author's key. KEYID is the "
        "fingerprint as plugin-bridge keys prints it. Installed plugins stay. "
        f"{PROMPTED}{EXIT_STATUS}"
    )

    def parseArgs(  # type: ignore[override]
        self, key_id: str
    ) -> None:
        """Accept the key's fingerprint."""
        self["key"] = key_id


def main(arguments: list[str]) -> int:
    """Forget a key and return the exit status."""
    options = ForgetKeyOptions()
    options.parseOptions(arguments)
    return manage(
        "forget-key",
        options,
        lambda session: forget(session, options["key"]),
    )


def forget(session: Session, key_id: str) -> int:
    """Forget a key; return the exit status."""
    session.operate("forget_key", keyId=key_id)
    session.print({"forgotten": key_id}, [f"{key_id} is not trusted any more"])
    return 0
