"""``plugin-bridge list``: the installed plugins."""

from __future__ import annotations

from ...asking.installed import line_of, read_plugins
from ...asking.session import EXIT_STATUS, ManageOptions, Session, manage


class ListOptions(ManageOptions):
    """The command line of ``plugin-bridge list``."""

    synopsis = "Usage: plugin-bridge list [--json] [--host NAME|PATH]"
    longdesc = (
        "Lists the installed plugins of the running daemon: id, version, name, whether "
        "one is switched off, and why one is not in the bundle. " + EXIT_STATUS
    )


def main(arguments: list[str]) -> int:
    """List the plugins and return the exit status."""
    options = ListOptions()
    options.parseOptions(arguments)
    return manage("list", options, show)


def show(session: Session) -> int:
    """List the plugins; return the exit status."""
    plugins = read_plugins(session)
    lines = [line_of(plugin) for plugin in plugins]
    session.print({"plugins": plugins}, lines or ["no plugin is installed"])
    return 0
