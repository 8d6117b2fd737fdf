"""What the plugins of prompts gain."""

from __future__ import annotations

from bridge.approval.wording import Difference, Differences


def gains_of(
    permissions: list[str],
    optional: list[str],
    hosts: list[str],
    actions: list[str],
    events: list[str],
) -> Differences:
    """Return what a plugin gains that loses nothing."""
    return Differences(
        Difference(permissions, []),
        Difference(optional, []),
        Difference(hosts, []),
        Difference(actions, []),
        Difference(events, []),
    )
