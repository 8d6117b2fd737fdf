"""The ``plugin-bridge`` command: ``main`` lists the commands, and runs one."""

from __future__ import annotations

from typing import Final

PROGRAM: Final = "plugin-bridge"

COMPLETE_VARIABLE: Final = "_PLUGIN_BRIDGE_COMPLETE"
"""By which a shell asks for completions."""
