"""``plugin-bridge install``: installs a plugin from its repository."""

from __future__ import annotations

from ....protocol.text import visible
from ...asking.session import EXIT_STATUS, PROMPTED, ManageOptions, Session, manage


class InstallOptions(ManageOptions):
    """The command line of ``plugin-bridge install``."""

    synopsis = "Usage: plugin-bridge install [--json] [--host NAME|PATH] URL"
    longdesc = (
        "Has the running daemon install the plugin of a git repository, with the same "
        f"checks as from the page. URL must be https. {PROMPTED}{EXIT_STATUS}"
    )

    def parseArgs(  # type: ignore[override]
        self, url: str
    ) -> None:
        """Accept the repository's URL."""
        self["url"] = url


def main(arguments: list[str]) -> int:
    """Install a plugin and return the exit status."""
    options = InstallOptions()
    options.parseOptions(arguments)
    return manage("install", options, lambda session: install(session, options["url"]))


def install(session: Session, url: str) -> int:
    """Install a plugin; return the exit status."""
    result = session.operate("install", url=url)
    plugin = result["plugin"]
    line = visible(f"installed {plugin['id']} {plugin['version']}")
    session.print(result, [line])
    return 0
