"""The commands that manage the plugins of a running daemon."""

from __future__ import annotations

import re
import time
from functools import partial
from typing import Any, Final

import click

from ...plugins.installed.records import KEYS, RECORDS, SWITCH
from ...plugins.tree.versions import is_lower
from ...protocol.errors import BridgeError, Code, Prefix
from ...protocol.text import PLUGIN_ID, nearest, timestamp, visible
from ...protocol.wire import structure
from ...settings.config import HOST_OPTIONS, ConfigError
from ...settings.host import HostProfile, locate
from ...store.state import HOST, StoreError, read_state
from .. import INTERRUPTED
from ..command import REFUSED, plain, prefix_of, refusal_fields
from ..session import Session, daemon_command
from ..terminal import CommandError, counted, print_line, table

_PENDING_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.5
_LIST_CHARACTERS: Final = 1 << 20
"""More than a manifest has: a terminal has room for all of it."""


def check_installed(session: Session, *plugin_ids: str) -> None:
    """
    Check that plugins are installed.

    :raise CommandError: One is not; the message has the nearest id.
    """
    ids = [plugin["id"] for plugin in session.plugins()]
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
    from ...approval.prompts import Differences, gain_lines

    changes = structure(preview["changes"], Differences)
    words = profile.permission_words
    return gain_lines(words, changes, _LIST_CHARACTERS)


@daemon_command("list", "--host reference")
def list_plugins(session: Session) -> None:
    """
    List the installed plugins of the running daemon: id, name, version, whether one is
    switched off, and why one is not in the bundle.
    """
    plugins = session.plugins()
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
    preview = preview_of(session, url=url)
    pin = {}
    if preview is not None:
        pin = {"pin": {name: preview[name] for name in ("commit", "digest")}}
        if not session.json:
            for line in preview_lines(preview, session.place.profile):
                session.progress.line(line)
    result = session.operate("install", url=url, **pin)
    plugin = result["plugin"]
    # Before a call that may fail: it is installed.
    session.print(result, [visible(f"installed {plugin['id']} {plugin['version']}")])
    if session.json:
        return
    for line in session.off_lines(plugin["id"]):
        print_line(line)


def _checked(ctx: click.Context, _: object, ids: tuple[str, ...]) -> tuple[str, ...]:
    if ids and ctx.params.get("every"):  # which click has read before
        raise click.UsageError("--all and ID exclude each other")
    return ids


@daemon_command("update", "--all", prompted=True)
@click.option(
    "--all", "every", is_flag=True, help="Update every plugin that is behind."
)
@click.argument(
    "ids",
    nargs=-1,
    metavar="[ID]...",
    callback=_checked,
    shell_complete=complete_plugins,
)
def update(session: Session, ids: tuple[str, ...], every: bool) -> int:
    """
    Have the running daemon update plugins from their repositories: those of the IDs, or
    with --all every one that is behind.

    Without either, list what is new, and change nothing. After a refusal it goes on
    with the next plugin; with --all the status is also 1 when it is not known of a
    plugin whether it is behind.
    """
    if not ids:
        return update_all(session) if every else show(session)
    check_installed(session, *ids)
    done, status = _update(session, list(dict.fromkeys(ids)))
    session.print({"updated": done}, [])
    return status


def update_all(session: Session) -> int:
    """Update what is behind; return the exit status."""
    answer = look(session)
    updates, unknown = answer["updates"], answer["unknown"]
    done, status = _update(session, [update["id"] for update in updates])
    nothing = [] if updates or unknown else ["every plugin is up to date"]
    session.print({"updated": done, "unknown": unknown}, nothing)
    for one in unknown:
        session.progress.line(_unknown(one))
    return status or (REFUSED if unknown else 0)


def show(session: Session) -> int:
    """List what is new; return the exit status."""
    answer = look(session)
    updates = answer["updates"]
    lines = [_unknown(one) for one in answer["unknown"]]
    if updates:
        rows, more = [("ID", "UPDATE", "NEWEST COMMIT")], []
        for update in updates:
            preview = _previewed(session, update["id"])
            rows.append(_update_row(update, preview))
            if preview is not None:
                update["version"] = preview["manifest"]["version"]
                update["changes"] = preview["changes"]
                more += _asks_for(preview, session.place.profile)
        again = f"to update, run: plugin-bridge update --all {session.place.typed}"
        lines = [*table(rows), *more, *lines, again]
    session.print(answer, lines or ["every plugin is up to date"])
    return 0


def _previewed(session: Session, plugin_id: str) -> Any | None:
    """Preview an update; ``None`` when it would be refused, or can't be done now."""
    try:
        return preview_of(session, id=plugin_id)
    except BridgeError as e:
        if session.interrupted:
            raise
        session.progress.line(f"{plugin_id}: {plain(e, session.place.typed)}")
        return None


def _asks_for(preview: Any, profile: HostProfile) -> list[str]:
    lines = gained(preview, profile)
    if not lines:
        return []
    name = preview["manifest"]["id"]
    return [f"{name} also asks for:", *(f"  {line}" for line in lines)]


def look(session: Session) -> Any:
    """
    Have every repository looked at now, and wait for those that are slow.

    :return: What ``check_updates`` answers; what is still pending is ``unknown``.
    """
    end = time.monotonic() + _PENDING_SECONDS
    answer = session.call("plugins", "check_updates", fresh=True)
    while answer["pending"] and time.monotonic() < end:
        if not session.json:
            waiting = f"waiting for the repositories of {', '.join(answer['pending'])}"
            session.progress.report({"step": "", "message": waiting})
        time.sleep(_LOOK_SECONDS)
        answer = session.call("plugins", "check_updates")
    session.progress.end()
    behind = [one["id"] for one in answer["updates"]]
    why = "its repository has not answered"
    late = [
        {"id": plugin_id, "reason": why}
        for plugin_id in answer["pending"]
        if plugin_id not in behind
    ]
    return {**answer, "unknown": [*answer["unknown"], *late], "pending": []}


def _unknown(one: dict[str, Any]) -> str:
    return visible(f"{one['id']}: not known whether it is behind: {one['reason']}")


def _update_row(update: dict[str, Any], preview: Any | None) -> tuple[str, str, str]:
    """Return the row of an update: its versions where they are known, else commits."""
    what = counted(update["commitsBehind"], "new commit")
    if preview is not None and "installed" in preview:
        versions = preview["installed"]["version"], preview["manifest"]["version"]
        if all(versions) and versions[0] != versions[1]:
            what = " → ".join(versions)
            if is_lower(versions[1], versions[0]):
                what += " (lower, so refused)"
    summary = update["changelog"][0]["summary"] if update["changelog"] else ""
    return update["id"], visible(what), visible(summary)


def _update(session: Session, ids: list[str]) -> tuple[list[dict[str, Any]], int]:
    """Update plugins; return what became of each, and the exit status."""
    done: list[dict[str, Any]] = []
    status = 0
    for plugin_id in ids:
        try:
            result = session.operate("update", id=plugin_id)
        except BridgeError as e:
            refused = refusal_fields(str(e.code), e.message)
            done.append({"id": plugin_id, **refused})
            session.progress.line(f"{plugin_id}: {plain(e, session.place.typed)}")
            status = REFUSED
            if session.interrupted or prefix_of(e) is Prefix.CANCELLED:
                status = INTERRUPTED
                break
        else:
            plugin = result["plugin"]
            done.append({"id": plugin_id, **result})
            if not session.json:
                what = "is at" if result["updated"] else "has nothing new, and is at"
                line = visible(f"{plugin_id} {what} {plugin['version']}")
                session.print(None, [line])
    return done, status


_id = click.argument("plugin_id", metavar="ID", shell_complete=complete_plugins)


@daemon_command("uninstall", "weather", prompted=True)
@_id
def uninstall(session: Session, plugin_id: str) -> int:
    """
    Have the running daemon remove an installed plugin and its settings.

    The status is 1 when the bundle still has it, since none could be built without it.
    The daemon tries again when somebody connects or lists the plugins, after at least
    10 s.
    """
    check_installed(session, plugin_id)
    session.operate("uninstall", id=plugin_id)
    result, line = {"uninstalled": plugin_id}, f"uninstalled {plugin_id}"
    why = session.build_error
    if why:
        result["buildError"] = why
        line += f", but the bundle still has it: {why}"
    session.print(result, [line])
    return REFUSED if why else 0


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
    check_installed(session, plugin_id)
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
@click.argument("key_id", metavar="KEYID", shell_complete=complete_keys)
def forget_key(session: Session, key_id: str) -> None:
    """
    Have the running daemon stop trusting an author's key. KEYID is the fingerprint as
    plugin-bridge keys prints it. Installed plugins stay.
    """
    session.operate("forget_key", keyId=key_id)
    session.print({"forgotten": key_id}, [f"{key_id} is not trusted any more"])
