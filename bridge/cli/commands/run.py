"""``plugin-bridge run``: ``twistd -n bridge`` under a friendlier name."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import click
from twisted.application import app
from twisted.scripts import twistd

from ...settings.options import daemon_command


class DaemonServerOptions(twistd.ServerOptions):  # type: ignore[name-defined]
    """
    The options of twistd, which looks for no other plugin than the daemon's.

    :ivar given: The daemon's options, parsed.
    """

    def __init__(self, given: click.Context) -> None:
        super().__init__()
        self.given = given
        # A foreground daemon needs no file to find its process by.  Windows has no
        # option for one.
        self["pidfile"] = ""

    @property
    def subCommands(self) -> Iterator[tuple[str, None, Any, str]]:  # noqa: N802
        """Yield the one command; twistd would load twenty modules to find others."""
        from twisted.plugins.bridge_dropin import bridge

        self.loadedPlugins = {bridge.tapname: bridge}
        yield bridge.tapname, None, self._loaded_options, bridge.description

    def _loaded_options(self) -> Any:
        """Load the daemon, and make its options."""
        from twisted.plugins.bridge_dropin import bridge

        # Collections would look at all that is being loaded, again and again: a third
        # of the time that it takes, for half a megabyte.
        gc.disable()
        try:
            # It is a property, which loads the daemon.
            return bridge.options(self.given)
        finally:
            gc.freeze()
            gc.enable()


@click.pass_context
def _run(ctx: click.Context, /, **_: Any) -> None:
    """Run the daemon until it is stopped."""
    sys.argv = ["twistd", "--nodaemon", "bridge"]
    app.run(twistd.runApp, partial(DaemonServerOptions, ctx))


run = daemon_command(_run)
