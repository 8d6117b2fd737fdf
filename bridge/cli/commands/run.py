"""``plugin-bridge run``: ``twistd -n bridge`` under a friendlier name."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

from twisted.application import app
from twisted.scripts import twistd


class DaemonServerOptions(twistd.ServerOptions):  # type: ignore[name-defined]
    """The options of twistd, which looks for no other plugin than the daemon's."""

    @property
    def subCommands(self) -> Iterator[tuple[str, None, Any, str]]:  # noqa: N802
        """Yield the one command; twistd would load twenty modules to find others."""
        from twisted.plugins.bridge_dropin import bridge

        self.loadedPlugins = {bridge.tapname: bridge}
        yield bridge.tapname, None, _loaded_options, bridge.description


def _loaded_options() -> Any:
    """Load the daemon, and make its options."""
    from twisted.plugins.bridge_dropin import bridge

    # Collections would look at all that is being loaded, again and again: a third of
    # the time that it takes, for half a megabyte.
    gc.disable()
    try:
        # It is a property, which loads the daemon.
        return bridge.options()
    finally:
        gc.freeze()
        gc.enable()


def main(arguments: list[str]) -> int:
    """Run the daemon until it is stopped."""
    # A foreground daemon needs no file to find its process by.
    sys.argv = ["twistd", "--nodaemon", "--pidfile=", "bridge", *arguments]
    app.run(twistd.runApp, DaemonServerOptions)
    return 0
