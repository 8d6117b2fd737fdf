"""``plugin-bridge enable``: switches a plugin on."""

from __future__ import annotations

from .switching import SWITCHING, SwitchOptions, switch


class EnableOptions(SwitchOptions):
    """The command line of ``plugin-bridge enable``."""

    synopsis = "Usage: plugin-bridge enable [--json] [--host NAME|PATH] ID"
    longdesc = f"Switches an installed plugin on. {SWITCHING}"


def main(arguments: list[str]) -> int:
    """Switch a plugin on and return the exit status."""
    options = EnableOptions()
    options.parseOptions(arguments)
    return switch("enable", options, True)
