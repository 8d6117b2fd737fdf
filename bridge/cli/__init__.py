"""The ``plugin-bridge`` command: ``main`` lists the commands, and runs one."""

from __future__ import annotations

from typing import Final

PROGRAM: Final = "plugin-bridge"

INTERRUPTED: Final = 130
"""The exit status after Ctrl-C, where that is not how a command is meant to end."""

COMPLETE_VARIABLE: Final = "_PLUGIN_BRIDGE_COMPLETE"
"""By which a shell asks for completions."""
