"""Switch a plugin on or off, as the page does."""

from __future__ import annotations

from ...asking.installed import NAMESPACE, SWITCH, check_installed, read_plugins
from ...asking.session import EXIT_STATUS, ManageOptions, Session, manage

SWITCHING = (
    "No prompt is needed. An open page follows when it is reloaded. " + EXIT_STATUS
)


class SwitchOptions(ManageOptions):
    """A command line that ends with one plugin's id."""

    def parseArgs(  # type: ignore[override]
        self, plugin_id: str
    ) -> None:
        """Accept the plugin's id."""
        self["id"] = plugin_id


def switch(command: str, options: SwitchOptions, on: bool) -> int:
    """Switch a plugin on or off; return the exit status."""

    def work(session: Session) -> int:
        set_switch(session, options["id"], on)
        return 0

    return manage(command, options, work)


def set_switch(session: Session, plugin_id: str, on: bool) -> None:
    """
    Switch a plugin, and print the result.

    :raise CommandError: It is not installed.
    """
    check_installed(plugin_id, read_plugins(session))
    key = SWITCH + plugin_id
    if on:
        session.call("state", "delete", ns=NAMESPACE, key=key)
    else:
        session.call("state", "set", ns=NAMESPACE, key=key, value=False)
    word = "on" if on else "off"
    session.print(
        {"id": plugin_id, "enabled": on},
        [f"{plugin_id}: {word}; reload the page if it is open"],
    )
