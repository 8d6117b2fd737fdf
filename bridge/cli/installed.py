"""What is installed, as the daemon lists it, and which of it is switched off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from ..plugins.installed.ids import RECORDS
from ..plugins.installed.keys import KEYS
from ..protocol.nearest import nearest
from ..protocol.text import visible
from ..settings.config import HOST_OPTIONS, ConfigError
from ..settings.options import locate
from ..store import StoreError, read_state
from .session import Session
from .terminal import CommandError

NAMESPACE: Final = "host"
SWITCH: Final = "enabled:"
"""The keys of the switches, before the plugin's id: ``false`` is off, absent is on."""


def read_plugins(session: Session) -> list[dict[str, Any]]:
    """
    List the installed plugins.

    :return: List entries, each with ``enabled`` and, when it is not built, ``problem``.
    """
    listing = session.call("plugins", "list")
    switches = session.call("state", "list", ns=NAMESPACE)["entries"]
    found = {plugin["id"]: {**plugin} for plugin in listing["plugins"]}
    for broken in listing["broken"]:
        plugin = found.setdefault(broken["id"], {"id": broken["id"]})
        plugin["problem"] = broken["reason"]
    for plugin_id, plugin in found.items():
        plugin["enabled"] = is_on(plugin_id, switches)
    return [found[plugin_id] for plugin_id in sorted(found)]


def is_on(plugin_id: str, switches: Mapping[str, object]) -> bool:
    """
    Whether a plugin is switched on.

    :param switches: The values of the namespace ``host`` by key.
    """
    return switches.get(SWITCH + plugin_id) is not False


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


def complete_plugins(
    ctx: click.Context, _: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Complete the id of an installed plugin."""
    return _complete(RECORDS, ctx, begun)


def complete_keys(
    ctx: click.Context, _: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Complete the fingerprint of a key that is accepted."""
    return _complete(KEYS, ctx, begun)


def _complete(namespace: str, ctx: click.Context, begun: str) -> list[CompletionItem]:
    """Complete names in the state of the data directory of a command line."""
    try:
        place = locate(*(ctx.params[option.attribute] for option in HOST_OPTIONS))
        names = read_state(place.data.state).entries(namespace)
    except (ConfigError, StoreError, OSError):
        return []
    found = (visible(name) for name in sorted(names))
    return [CompletionItem(name) for name in found if name.startswith(begun)]
