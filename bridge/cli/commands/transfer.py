"""The commands that carry plugins and settings to another computer in one file."""

from __future__ import annotations

import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

import click

from ...classes import define, frozen
from ...plugins.installed import records
from ...protocol.errors import BridgeError
from ...protocol.limits import MIB, STATE_FILE_BYTES
from ...protocol.strictjson import dumps, loads_unique
from ...protocol.text import timestamp, visible
from ...protocol.wire import structure, unstructure
from ...settings.host import Paths
from ...store.state import DAEMON_PREFIX, HOST, Tables, read_state
from ..command import EXIT_STATUS, command
from ..session import Session, connect
from ..terminal import CommandError, print_line, reported, write_private

_FILE_BYTES: Final = STATE_FILE_BYTES + MIB

VERSION: Final = 1
"""Of the file's shape; what is newer is refused by ``import``."""


@frozen
class PluginSource:
    """
    One plugin.

    :ivar id: Its id.
    :ivar url: Where it was installed from.
    """

    id: str
    url: str


@define
class Export:
    """
    The content of the file.

    :ivar version: ``VERSION``.
    :ivar application: The host application's name.
    :ivar exported_at: When, in UTC.
    :ivar plugins: Where each plugin came from, by id.
    :ivar state: The page's values by namespace and key.
    """

    version: int
    application: str
    exported_at: str
    plugins: list[PluginSource]
    state: dict[str, dict[str, Any]]


@command("export", "plugins.json")
@click.argument("file", type=click.Path(allow_dash=True))
def export(place: Paths, file: str) -> None:
    """
    Write the URLs of the installed plugins, and the page's settings, to FILE (- for
    standard output), for plugin-bridge import on another computer.

    FILE does not contain accepted keys or the pairing token. Settings can contain
    secrets of plugins, so FILE gets mode 0600. An existing file is never replaced.
    """
    if not place.data.root.is_dir():
        raise CommandError(
            f"there is no data directory {place.data.root}; choose one with --host or "
            "--data-dir"
        )
    view = read_state(place.data.state)
    made = taken(view, place.profile.application, time.time())
    text = dumps(unstructure(made)) + b"\n"
    if file == "-":
        sys.stdout.buffer.write(text)
    else:
        write_private(Path(file), text)
    values = _count(made.state)
    sys.stderr.write(f"plugins: {len(made.plugins)}, settings: {values}\n")


def taken(view: Tables, application: str, now: float) -> Export:
    """
    Return the part of the state that is exported.

    :param now: Seconds since the epoch.
    """
    found = records.read_records(view).items()
    return Export(
        VERSION,
        application,
        timestamp(now, "seconds"),
        [PluginSource(name, record.url) for name, record in found],
        {
            ns: view.entries(ns)
            for ns in view.namespaces()
            if not ns.startswith(DAEMON_PREFIX)
        },
    )


@command("import", "plugins.json", status=EXIT_STATUS)
@click.option("--replace", is_flag=True, help="Replace existing settings.")
@click.argument("file", type=click.File("rb"))
def import_(place: Paths, file: BinaryIO, replace: bool) -> int:
    """
    Have the running daemon install each plugin of FILE (- for standard input), with the
    same steps and prompts as from the page, and set the page's settings.

    Installed plugins stay, and so do existing settings unless --replace is given.
    Settings of a plugin that FILE does not list, or that could not be installed, are
    left out.
    """
    export = read_export(file)
    check_application(export, place.profile.application)
    with closing(connect(place)) as session:
        there = install_all(session, export)
        session.raise_if_interrupted()
        state = settings_with(export, there)
        refused = set_all(session, state, replace)
        if left_out := _count(export.state) - _count(state):
            print_line(f"left out, of plugins not listed or not installed: {left_out}")
        return 1 if refused or _listed(export) - there else 0


def read_export(file: BinaryIO) -> Export:
    """
    Read a file of ``plugin-bridge export``.

    :raise CommandError: It is none, or one of a newer version.
    """
    with reported("the file cannot be read"):
        content = file.read(_FILE_BYTES + 1)
    if len(content) > _FILE_BYTES:
        raise CommandError(f"the file is over {_FILE_BYTES} bytes")
    try:
        value = loads_unique(content)
        if type(value) is not dict or value.get("version") == VERSION:
            return structure(value, Export)
    except BridgeError as e:
        raise CommandError(
            f"the file was not written by plugin-bridge export: {e.message}"
        ) from None
    raise CommandError(f"the file must have version {VERSION} of the export format")


def check_application(export: Export, application: str) -> None:
    """
    Check that a file is of this host application.

    :raise CommandError: It is of another, to which its settings mean nothing.
    """
    if export.application not in ("", application):
        raise CommandError(
            f"the file is for {visible(export.application)}, not for {application}; "
            "choose the host with --host"
        )


def install_all(session: Session, export: Export) -> set[str]:
    """
    Install every plugin; continue after a refusal.

    :return: The ids of those that are there.
    """
    installed = {plugin["id"] for plugin in session.call("plugins", "list")["plugins"]}
    for plugin in export.plugins:
        name = visible(plugin.id)
        if plugin.id in installed:
            print_line(f"{name}: already installed")
            continue
        session.raise_if_interrupted()
        print_line(f"{name}: installing")
        try:
            found = session.operate("install", url=plugin.url)["plugin"]["id"]
        except BridgeError as e:
            if session.interrupted:
                raise
            print_line(f"{name}: refused: {visible(e.message)}")
        else:
            print_line(f"{visible(found)}: installed")
            installed.add(found)
            if found != plugin.id:
                print_line(f"{name}: not in its repository any more")
    return installed & _listed(export)


def _listed(export: Export) -> set[str]:
    return {plugin.id for plugin in export.plugins}


def settings_with(export: Export, plugins: set[str]) -> dict[str, dict[str, Any]]:
    """Return the settings but those of other plugins, which nobody has installed."""
    kept = set(map(records.settings_namespace, plugins))
    return {
        ns: {
            key: value
            for key, value in entries.items()
            if ns != HOST or _plugin_of(key) in (None, *plugins)
        }
        for ns, entries in export.state.items()
        if ns in kept or not ns.startswith(records.settings_namespace(""))
    }


def _plugin_of(key: str) -> str | None:
    """Return the id of the plugin whose key of the page's this is."""
    prefix = next(filter(key.startswith, (records.SWITCH, records.GRANTS)), None)
    return None if prefix is None else key.removeprefix(prefix)


def set_all(session: Session, state: dict[str, dict[str, Any]], replace: bool) -> int:
    """
    Set every value; continue after a refusal.

    :param state: The values by namespace and key.
    :param replace: Whether existing settings are replaced.
    :return: The number of refusals.
    """
    made = kept = refused = 0
    for ns, entries in state.items():
        present = {}
        # What is refused is for each of its settings, too, and reported then.
        with suppress(BridgeError):
            present = session.call("state", "list", ns=ns)["entries"]
        for key, value in entries.items():
            # As JSON: to Python, true is 1.
            if key in present and not (replace and dumps(present[key]) != dumps(value)):
                kept += 1
                continue
            try:
                session.call("state", "set", ns=ns, key=key, value=value)
                made += 1
                if ns == HOST and key.startswith(records.GRANTS):
                    name = visible(key.removeprefix(records.GRANTS))
                    print_line(f"{name}: permissions set")
            except BridgeError as e:
                refused += 1
                print_line(f"a setting of {visible(ns)}: refused: {e.message}")
    print_line(f"settings: {made} set, {kept} kept, {refused} refused")
    return refused


def _count(state: dict[str, dict[str, Any]]) -> int:
    return sum(map(len, state.values()))
