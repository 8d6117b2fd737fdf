"""``plugin-bridge list``: the installed plugins."""

from __future__ import annotations

from ...asking.installed import read_plugins, rows_of
from ...asking.session import EXIT_STATUS, ManageOptions, Session, manage
from ...terminal import table


class ListOptions(ManageOptions):
    """The command line of ``plugin-bridge list``."""

    synopsis = "Usage: plugin-bridge list [--json] [--host NAME|PATH]"
    longdesc = (
        "Lists the installed plugins of the running daemon: id, name, version, whether "
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
    lines = table(rows_of(plugins)) if plugins else ["no plugin is installed"]
    session.print({"plugins": plugins}, lines)
    return 0
