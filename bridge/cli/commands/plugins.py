"""The commands that manage the plugins of a running daemon."""

from __future__ import annotations

from typing import Any, Final

import click

from ...protocol.text import timestamp, visible
from ...settings.options import Paths
from ..command import Command, command, json_option
from ..installed import (
    NAMESPACE,
    SWITCH,
    check_installed,
    complete_keys,
    complete_plugins,
    preview_lines,
    preview_of,
    read_plugins,
)
from ..session import EXIT_STATUS, PROMPTED, session
from ..terminal import table

_GRANTS: Final = "grants:"
_SWITCHING: Final = "No prompt is needed. An open page follows when it is reloaded."


@command(
    "list",
    "List the installed plugins of the running daemon: id, name, version, whether one "
    "is switched off, and why one is not in the bundle.",
    "--host reference",
    status=EXIT_STATUS,
)
@json_option
def list_plugins(place: Paths, as_json: bool) -> None:
    """List the plugins."""
    with session(place, as_json) as found:
        plugins = read_plugins(found)
        rows = [("ID", "NAME", "VERSION", "STATE"), *map(row_of, plugins)]
        lines = table(rows) if plugins else ["no plugin is installed"]
        found.print({"plugins": plugins}, lines)


def row_of(plugin: dict[str, Any]) -> tuple[str, ...]:
    """Return what is listed of a plugin: id, name, version, state."""
    marks = ["on" if plugin["enabled"] else "off"]
    if plugin.get("dev"):
        marks.append("linked by plugin-bridge dev")
    if problem := plugin.get("problem"):
        marks.append(f"not in the bundle: {problem}")
    cells = (plugin["id"], plugin.get("name", ""), plugin.get("version", ""))
    return tuple(visible(str(cell)) for cell in (*cells, "; ".join(marks)))


@command(
    "install",
    "Have the running daemon install the plugin of a git repository, with the same "
    "checks as from the page, after showing what it is and asks for. URL must be "
    f"https. {PROMPTED}",
    "https://forge.example/me/plugin",
    status=EXIT_STATUS,
)
@json_option
@click.argument("url")
def install(place: Paths, url: str, as_json: bool) -> None:
    """Install a plugin."""
    with session(place, as_json) as found:
        preview = preview_of(found, url=url)
        pin = {}
        if preview is not None:
            pin = {"pin": {name: preview[name] for name in ("commit", "digest")}}
            if not as_json:
                for line in preview_lines(preview, place.profile):
                    found.progress.line(line)
        result = found.operate("install", url=url, **pin)
        plugin = result["plugin"]
        line = visible(f"installed {plugin['id']} {plugin['version']}")
        found.print(result, [line])


@command(
    "uninstall",
    f"Have the running daemon remove an installed plugin and its settings. {PROMPTED}",
    "weather",
    status=EXIT_STATUS,
)
@json_option
@click.argument("plugin_id", metavar="ID", shell_complete=complete_plugins)
def uninstall(place: Paths, plugin_id: str, as_json: bool) -> None:
    """Uninstall a plugin."""
    with session(place, as_json) as found:
        check_installed(plugin_id, read_plugins(found))
        found.operate("uninstall", id=plugin_id)
        # The page keeps these two, and removes them itself when it uninstalls.
        for prefix in (SWITCH, _GRANTS):
            found.call("state", "delete", ns=NAMESPACE, key=prefix + plugin_id)
        found.print({"uninstalled": plugin_id}, [f"uninstalled {plugin_id}"])


def _switch(name: str, about: str, on: bool) -> Command:
    """Make the command that switches a plugin on or off."""

    @command(name, f"{about} {_SWITCHING}", "weather", status=EXIT_STATUS)
    @json_option
    @click.argument("plugin_id", metavar="ID", shell_complete=complete_plugins)
    def switch(place: Paths, plugin_id: str, as_json: bool) -> None:
        with session(place, as_json) as found:
            check_installed(plugin_id, read_plugins(found))
            at = {"ns": NAMESPACE, "key": SWITCH + plugin_id}
            if on:
                found.call("state", "delete", **at)
            else:
                found.call("state", "set", **at, value=False)
            state = "on" if on else "off"
            line = f"{plugin_id}: {state}; reload the page if it is open"
            found.print({"id": plugin_id, "enabled": on}, [line])

    return switch


enable = _switch("enable", "Switch an installed plugin on.", True)
disable = _switch(
    "disable", "Switch an installed plugin off, without removing it.", False
)


@command(
    "cancel",
    "Cancel an install, an update, a preview or another plugin operation of the "
    "running daemon, and wait until it is rolled back. Without OPERATION, list the "
    "operations under way: the name of each, what it does, and its step. It is too "
    "late once the daemon puts the plugin in place.",
    "install-3",
    status=EXIT_STATUS,
)
@json_option
@click.argument("operation", required=False)
def cancel(place: Paths, operation: str | None, as_json: bool) -> None:
    """Cancel an operation, or list those that are under way."""
    with session(place, as_json) as found:
        if operation:
            found.call("plugins", "cancel", operation=operation)
            found.print({"cancelled": operation}, ["cancelled"])
            return
        answer = found.call("plugins", "operations")
        going = [entry for entry in answer["operations"] if "outcome" not in entry]
        lines = [line_of(entry) for entry in going] or ["no operation is under way"]
        found.print({"operations": going}, lines)


def line_of(operation: dict[str, Any]) -> str:
    """Format an operation that is under way."""
    names = ("operation", "op", "id", "step", "message")
    known = [str(operation[name]) for name in names if operation[name] is not None]
    if not operation["cancellable"]:
        known.append("(too late to cancel)")
    return visible("  ".join(known))


@command(
    "keys",
    "List the authors' keys that you have accepted, the last used first: the "
    "fingerprint, when it was accepted, and the installed plugins it has signed.",
    "--json",
    status=EXIT_STATUS,
)
@json_option
def keys(place: Paths, as_json: bool) -> None:
    """List the accepted keys."""
    with session(place, as_json) as found:
        result = found.call("plugins", "keys")
        lines = [_key_line(key) for key in result["keys"]]
        found.print(result, lines or ["no key is accepted"])


def _key_line(key: dict[str, Any]) -> str:
    day = timestamp(key["trustedAt"] / 1000, "seconds")[:10]
    signed = ", ".join(key["installed"]) or "nothing that is installed"
    return visible(f"{key['keyId']}  accepted {day}  signed {signed}")


@command(
    "forget-key",
    "Have the running daemon stop trusting an author's key. KEYID is the fingerprint "
    f"as plugin-bridge keys prints it. Installed plugins stay. {PROMPTED}",
    "KEYID",
    status=EXIT_STATUS,
)
@json_option
@click.argument("key_id", metavar="KEYID", shell_complete=complete_keys)
def forget_key(place: Paths, key_id: str, as_json: bool) -> None:
    """Forget a key."""
    with session(place, as_json) as found:
        found.operate("forget_key", keyId=key_id)
        found.print({"forgotten": key_id}, [f"{key_id} is not trusted any more"])
