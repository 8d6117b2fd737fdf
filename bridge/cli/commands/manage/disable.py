"""``plugin-bridge disable``: switches a plugin off."""

from __future__ import annotations

from .switching import SWITCHING, SwitchOptions, switch


class DisableOptions(SwitchOptions):
    """The command line of ``plugin-bridge disable``."""

    synopsis = "Usage: plugin-bridge disable [--json] [--host NAME|PATH] ID"
    longdesc = f"Switches an installed plugin off. {SWITCHING}"


def main(arguments: list[str]) -> int:
    """Switch a plugin off and return the exit status."""
    options = DisableOptions()
    options.parseOptions(arguments)
    return switch("disable", options, False)
