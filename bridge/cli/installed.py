"""What is installed, as the daemon lists it, and what may be, as it previews it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import click

from ..plugins.installed.records import KEYS, RECORDS, SWITCH
from ..protocol.errors import BridgeError, Code, Prefix
from ..protocol.text import PLUGIN_ID, nearest, visible
from ..protocol.wire import structure
from ..settings.config import HOST_OPTIONS, ConfigError
from ..settings.host import HostProfile
from ..settings.options import locate
from ..store.generations import StoreError, read_state
from ..store.tables import HOST
from .command import prefix_of
from .session import Session
from .terminal import CommandError

_LIST_CHARACTERS: Final = 1 << 20
"""More than a manifest has: a terminal has room for all of it."""


def read_plugins(session: Session) -> list[dict[str, Any]]:
    """
    List the installed plugins.

    :return: List entries, each with ``enabled`` and, when it is not built, ``problem``.
    """
    listing = session.call("plugins", "list")
    switches = read_switches(session)
    found = {plugin["id"]: {**plugin} for plugin in listing["plugins"]}
    for broken in listing["broken"]:
        plugin = found.setdefault(broken["id"], {"id": broken["id"]})
        plugin["problem"] = broken["reason"]
    for plugin_id, plugin in found.items():
        plugin["enabled"] = is_on(plugin_id, switches, session.place.profile)
    return [found[plugin_id] for plugin_id in sorted(found)]


def read_switches(session: Session) -> dict[str, object]:
    """Return the values of the namespace ``host`` by key, for ``is_on``."""
    entries: dict[str, object] = session.call("state", "list", ns=HOST)["entries"]
    return entries


def is_on(plugin_id: str, switches: Mapping[str, object], profile: HostProfile) -> bool:
    """
    Whether a plugin is switched on.

    :param switches: The values of the namespace ``host`` by key.
    """
    value = switches.get(SWITCH + plugin_id)
    return value is True if profile.opt_in else value is not False


def off_lines(session: Session, plugin_id: str) -> list[str]:
    """Return how to switch a plugin on, if it is off."""
    place = session.place
    if is_on(plugin_id, read_switches(session), place.profile):
        return []
    run = f"plugin-bridge enable {place.typed} {plugin_id}"
    return [f"it is off; to switch it on, run: {run}"]


def check_installed(session: Session, *plugin_ids: str) -> None:
    """
    Check that plugins are installed.

    :raise CommandError: One is not; the message has the nearest id.
    """
    ids = [plugin["id"] for plugin in read_plugins(session)]
    for plugin_id in plugin_ids:
        if plugin_id not in ids:
            run = f"; run: plugin-bridge list {session.place.typed}"
            named = plugin_id if re.fullmatch(PLUGIN_ID, plugin_id) else "with this id"
            hint = nearest(plugin_id, ids) or run
            raise CommandError(f"no plugin {named} is installed{hint}")


def _complete(
    namespace: str, ctx: click.Context, _: click.Parameter, begun: str
) -> list[str]:
    """Complete names in the state of the data directory of a command line."""
    try:
        place = locate(*(ctx.params[option.attribute] for option in HOST_OPTIONS))
        names = read_state(place.data.state).entries(namespace)
    except (ConfigError, StoreError, OSError):
        return []
    found = (visible(name) for name in sorted(names))
    return [name for name in found if name.startswith(begun)]


complete_plugins: Final = partial(_complete, RECORDS)
complete_keys: Final = partial(_complete, KEYS)


def preview_of(session: Session, **named: str) -> Any | None:
    """
    Have the daemon preview a plugin.

    :param named: ``url``, or the ``id`` of an installed one.
    :return: What ``plugins/preview`` answers; ``None`` where only previews are refused.
    :raise BridgeError: An install or update would be refused, too.
    """
    try:
        return session.operate("preview", **named)
    except BridgeError as e:
        if prefix_of(e) is Prefix.BUSY or e.code is Code.RATE_LIMITED:
            return None
        raise


def preview_lines(preview: Any, profile: HostProfile) -> list[str]:
    """Describe a plugin: its name, its author's key, and what it asks for."""
    manifest, key = preview["manifest"], preview["key"]
    author = f", by {manifest['author']}" if manifest.get("author") else ""
    known = "accepted before" if key["trusted"] else "not accepted yet"
    asks = gained(preview, profile) or ["It asks for nothing."]
    return [
        visible(f"{manifest['id']} {manifest['version']}: {manifest['name']}{author}"),
        visible(f"signed with the key {key['keyId']}, {known}"),
        *asks,
    ]


def gained(preview: Any, profile: HostProfile) -> list[str]:
    """List in words what a plugin asks for that the installed one does not."""
    # Most commands need none of it.
    from ..approval.prompts import Differences, gain_lines

    changes = structure(preview["changes"], Differences)
    words = profile.permission_words
    return gain_lines(words, changes, _LIST_CHARACTERS)
