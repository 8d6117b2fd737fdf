"""The commands that manage the plugins of a running daemon."""

from __future__ import annotations

from typing import Any

import click

from ...plugins.installed.records import SWITCH
from ...protocol.text import timestamp, visible
from ...store.tables import HOST
from .. import installed
from ..session import Session, daemon_command
from ..terminal import print_line, table


@daemon_command("list", "--host reference")
def list_plugins(session: Session) -> None:
    """
    List the installed plugins of the running daemon: id, name, version, whether one is
    switched off, and why one is not in the bundle.
    """
    plugins = installed.read_plugins(session)
    rows = [("ID", "NAME", "VERSION", "STATE"), *map(row_of, plugins)]
    session.print(
        {"plugins": plugins}, table(rows) if plugins else ["no plugin is installed"]
    )


def row_of(plugin: dict[str, Any]) -> tuple[str, ...]:
    """Return what is listed of a plugin: id, name, version, state."""
    marks = ["on" if plugin["enabled"] else "off"]
    if plugin.get("dev"):
        marks.append("linked by plugin-bridge dev")
    if problem := plugin.get("problem"):
        marks.append(f"not in the bundle: {problem}")
    cells = (plugin["id"], plugin.get("name", ""), plugin.get("version", ""))
    return tuple(visible(str(cell)) for cell in (*cells, "; ".join(marks)))


@daemon_command("install", "https://forge.example/me/plugin", prompted=True)
@click.argument("url")
def install(session: Session, url: str) -> None:
    """
    Have the running daemon install the plugin of a git repository, with the same checks
    as from the page, after showing what it is and asks for. URL must be https.
    """
    preview = installed.preview_of(session, url=url)
    pin = {}
    if preview is not None:
        pin = {"pin": {name: preview[name] for name in ("commit", "digest")}}
        if not session.json:
            for line in installed.preview_lines(preview, session.place.profile):
                session.progress.line(line)
    result = session.operate("install", url=url, **pin)
    plugin = result["plugin"]
    # Before a call that may fail: it is installed.
    session.print(result, [visible(f"installed {plugin['id']} {plugin['version']}")])
    if session.json:
        return
    for line in installed.off_lines(plugin["id"], session, session.place):
        print_line(line)


_id = click.argument(
    "plugin_id", metavar="ID", shell_complete=installed.complete_plugins
)


@daemon_command("uninstall", "weather", prompted=True)
@_id
def uninstall(session: Session, plugin_id: str) -> None:
    """Have the running daemon remove an installed plugin and its settings."""
    installed.check_installed(session, plugin_id)
    session.operate("uninstall", id=plugin_id)
    session.print({"uninstalled": plugin_id}, [f"uninstalled {plugin_id}"])


@daemon_command("enable", "weather")
@_id
def enable(session: Session, plugin_id: str) -> None:
    """
    Switch an installed plugin on. No prompt is needed. An open page follows when it is
    reloaded.
    """
    _switch(session, plugin_id, True)


@daemon_command("disable", "weather")
@_id
def disable(session: Session, plugin_id: str) -> None:
    """
    Switch an installed plugin off, without removing it. No prompt is needed. An open
    page follows when it is reloaded.
    """
    _switch(session, plugin_id, False)


def _switch(session: Session, plugin_id: str, on: bool) -> None:
    installed.check_installed(session, plugin_id)
    at = {"ns": HOST, "key": SWITCH + plugin_id}
    if on == session.place.profile.opt_in:
        session.call("state", "set", **at, value=on)
    else:
        session.call("state", "delete", **at)
    line = f"{plugin_id}: {'on' if on else 'off'}; reload the page if it is open"
    session.print({"id": plugin_id, "enabled": on}, [line])


@daemon_command("cancel", "efde2c44281ac67c")
@click.argument("operation", required=False)
def cancel(session: Session, operation: str | None) -> None:
    """
    Cancel an install, an update, a preview or another plugin operation of the running
    daemon, and wait until it is rolled back. Without OPERATION, list the operations
    under way: the name of each, what it does, and its step. It is too late once the
    daemon puts the plugin in place.
    """
    if operation:
        session.call("plugins", "cancel", operation=operation)
        session.print({"cancelled": operation}, ["cancelled"])
        return
    answer = session.call("plugins", "operations")
    going = [entry for entry in answer["operations"] if "outcome" not in entry]
    lines = [line_of(entry) for entry in going] or ["no operation is under way"]
    session.print({"operations": going}, lines)


def line_of(operation: dict[str, Any]) -> str:
    """Format an operation that is under way."""
    names = ("operation", "op", "id", "step", "message")
    known = [str(operation[name]) for name in names if operation[name] is not None]
    if not operation["cancellable"]:
        known.append("(too late to cancel)")
    return visible("  ".join(known))


@daemon_command("keys", "--json")
def keys(session: Session) -> None:
    """
    List the authors' keys that you have accepted, the last used first: the fingerprint,
    when it was accepted, and the installed plugins it has signed.
    """
    result = session.call("plugins", "keys")
    lines = [_key_line(key) for key in result["keys"]]
    session.print(result, lines or ["no key is accepted"])


def _key_line(key: dict[str, Any]) -> str:
    day = timestamp(key["trustedAt"] / 1000, "seconds")[:10]
    signed = ", ".join(key["installed"]) or "nothing that is installed"
    return visible(f"{key['keyId']}  accepted {day}  signed {signed}")


@daemon_command("forget-key", "KEYID", prompted=True)
@click.argument("key_id", metavar="KEYID", shell_complete=installed.complete_keys)
def forget_key(session: Session, key_id: str) -> None:
    """
    Have the running daemon stop trusting an author's key. KEYID is the fingerprint as
    plugin-bridge keys prints it. Installed plugins stay.
    """
    session.operate("forget_key", keyId=key_id)
    session.print({"forgotten": key_id}, [f"{key_id} is not trusted any more"])
