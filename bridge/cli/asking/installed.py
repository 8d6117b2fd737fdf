"""What is installed, as the daemon lists it, and which of it is switched off."""

from __future__ import annotations

from typing import Any, Final

from ...protocol.nearest import nearest
from ...protocol.text import visible
from ..terminal import CommandError
from .session import Session

NAMESPACE: Final = "host"
SWITCH: Final = "enabled:"
"""The keys of the switches, before the plugin's id: ``false`` is off, absent is on."""


def read_plugins(session: Session) -> list[dict[str, Any]]:
    """
    List the installed plugins.

    :return: List entries, each with ``enabled`` and, when it is not built, ``problem``.
    """
    listing = session.call("plugins", "list")
    entries = session.call("state", "list", ns=NAMESPACE)
    return merged(listing, entries["entries"])


def merged(listing: Any, switches: dict[str, Any]) -> list[dict[str, Any]]:
    """
    Put together what the daemon and the page know.

    :param listing: Of ``plugins/list``.
    :param switches: The values of the namespace ``host`` by key.
    """
    reasons = {broken["id"]: broken["reason"] for broken in listing["broken"]}
    found = {plugin["id"]: {**plugin} for plugin in listing["plugins"]}
    for plugin_id, reason in reasons.items():
        found.setdefault(plugin_id, {"id": plugin_id})["problem"] = reason
    for plugin_id, plugin in found.items():
        plugin["enabled"] = switches.get(SWITCH + plugin_id) is not False
    return [found[plugin_id] for plugin_id in sorted(found)]


def rows_of(plugins: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return a row for each plugin, below a header: id, name, version, state."""
    found = (
        (one["id"], one.get("name", ""), one.get("version", ""), _state(one))
        for one in plugins
    )
    rows = (tuple(visible(str(cell)) for cell in row) for row in found)
    return [("ID", "NAME", "VERSION", "STATE"), *rows]


def _state(plugin: dict[str, Any]) -> str:
    marks = ["on" if plugin["enabled"] else "off"]
    if plugin.get("dev"):
        marks.append("linked by plugin-bridge dev")
    if problem := plugin.get("problem"):
        marks.append(f"not in the bundle: {problem}")
    return "; ".join(marks)


def check_installed(plugin_id: str, plugins: list[dict[str, Any]]) -> None:
    """
    Check that a plugin is installed.

    :raise CommandError: It is not; the message has the nearest id.
    """
    ids = [plugin["id"] for plugin in plugins]
    if plugin_id in ids:
        return
    hint = nearest(plugin_id, ids) or "; run: plugin-bridge list"
    raise CommandError(f"no plugin with this id is installed{hint}")
