"""What is known of the later parts before they are loaded."""

from __future__ import annotations

from typing import Final

_SERVICES: Final = ("logs", "notify", "osc", "outbound", "plugins", "sql", "state")
_DEV_SERVICES: Final = ("remote",)

WARMED: Final = (
    "autobahn.twisted.websocket",
    "bridge.web.websocket.socket",
    "bridge.web.upgrade",
    "bridge.wiring.services",
    "bridge.wiring.parts",
)
"""What is imported after the daemon listens, each in a turn of the reactor."""


def service_names(dev: bool) -> list[str]:
    """Return the names of all services, sorted."""
    return sorted((*_SERVICES, *(_DEV_SERVICES if dev else ())))
