"""``plugin-bridge uninstall``: removes a plugin and its settings."""

from __future__ import annotations

from ...asking.installed import NAMESPACE, SWITCH, check_installed, read_plugins
from ...asking.session import EXIT_STATUS, PROMPTED, ManageOptions, Session, manage

_GRANTS = "grants:"


class UninstallOptions(ManageOptions):
    """The command line of ``plugin-bridge uninstall``."""

    synopsis = "Usage: plugin-bridge uninstall [--json] [--host NAME|PATH] ID"
    longdesc = (
        "Has the running daemon remove an installed plugin and its settings. "
        f"{PROMPTED}{EXIT_STATUS}"
    )

    def parseArgs(  # type: ignore[override]
        self, plugin_id: str
    ) -> None:
        """Accept the plugin's id."""
        self["id"] = plugin_id


def main(arguments: list[str]) -> int:
    """Uninstall a plugin and return the exit status."""
    options = UninstallOptions()
    options.parseOptions(arguments)
    return manage(
        "uninstall",
        options,
        lambda session: uninstall(session, options["id"]),
    )


def uninstall(session: Session, plugin_id: str) -> int:
    """
    Uninstall a plugin; return the exit status.

    :raise CommandError: It is not installed.
    """
    check_installed(plugin_id, read_plugins(session))
    session.operate("uninstall", id=plugin_id)
    # The page keeps these two, and removes them itself when it uninstalls.
    for prefix in (SWITCH, _GRANTS):
        session.call("state", "delete", ns=NAMESPACE, key=prefix + plugin_id)
    session.print({"uninstalled": plugin_id}, [f"uninstalled {plugin_id}"])
    return 0
