"""The checks of ``plugin-bridge doctor``: each returns findings with fixes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import Final

from ..approval.approvers import ANSWERING
from ..classes import frozen
from ..daemon.listening import is_taken
from ..datadir.ownership import NotOwnError, check, check_above, check_tree
from ..datadir.paths import DataDir
from ..datadir.token import read_token
from ..freedesktop.connection import DesktopError
from ..freedesktop.notifications import Notifications
from ..plugins.esbuild.executable import BINARY_NAME, CHECKSUM_NAME, VERSION, pin_for
from ..plugins.installed.exchange import Journal, JournalError
from ..plugins.installed.records import Record, read_records
from ..plugins.installed.trees import Trees
from ..protocol.errors import UserError
from ..protocol.text import visible
from ..provision import service
from ..provision.hostsources import check_directory_host
from ..provision.readiness import missing_sources, setup_advice, theme_problem
from ..provision.setup import installed_bundler, runnable, sources_problem
from ..settings.host import Paths
from ..settings.values import Address
from ..store.state import Generations, RepairableError, StoreError, Tables, read_state
from ..system.files import is_own
from ..system.locks import is_held
from .session import UNASKED, connect, listens_on, other_daemons
from .terminal import counted

_WITH_SERVER: Final = frozenset({"GNOME", "KDE", "MATE", "X-Cinnamon", "XFCE"})
"""Desktops that show notifications themselves, as ``XDG_CURRENT_DESKTOP`` has them."""


class Level(StrEnum):
    """The severity of a finding."""

    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"


@frozen
class Finding:
    """
    What one check found.

    :ivar name: The subject of the check.
    :ivar text: The state it is in.
    :ivar fix: What the user should do; empty when nothing.
    """

    name: str
    level: Level
    text: str
    fix: str = ""


_Found = tuple[Level, str, str]
"""What a finding has besides its name."""


def _wrong(why: Exception | str) -> _Found:
    """Return what is wrong, and its fix, which stands behind a semicolon."""
    text, _, fix = str(why).partition("; ")
    return Level.WRONG, text, fix


def _finding(name: str, check: Callable[[Paths], _Found], place: Paths) -> Finding:
    """Return what a check has found; what it raises is wrong."""
    try:
        return Finding(name, *check(place))
    except (UserError, NotOwnError) as e:
        return Finding(name, *_wrong(e))


def on_disk(place: Paths) -> Iterator[Finding]:
    """Check the files; changes nothing."""
    yield _finding("data directory", _directory, place)
    for other in _files_of_others(place.data):
        yield Finding("files of others", Level.WRONG, other.finding, other.fix)
    yield _finding("pairing token", _token, place)
    yield from _state(place)
    yield _finding("bundler", _bundler, place)
    yield _finding("host sources", _sources, place)
    yield _finding("theme directory", _theme, place)
    yield from _databases(place)


def _files_of_others(data: DataDir) -> Iterator[NotOwnError]:
    """
    Look for what another user may have written, as far down as it is used.

    Not at the token, the settings and the journal, which have checks of their own.

    :return: The first finding of each tree, file or directory.
    """
    previous = Generations(data.state).previous
    files = (data.bin, data.host, data.build, previous, data.lock, data.address)
    directories = (data.plugins, data.log.parent)
    for path in (*directories, *files, *_trees(data)):
        try:
            check(path) if path in directories else check_tree(path)
        except NotOwnError as e:
            yield e


def _trees(data: DataDir) -> list[Path]:
    with suppress(OSError):
        return sorted(data.plugins.iterdir())
    return []


def _directory(place: Paths) -> _Found:
    root = place.data.root
    try:
        found = root.stat()
    except OSError:
        return Level.WRONG, f"{root} does not exist", setup_advice(place)
    another = "choose another with --data-dir"
    if not stat.S_ISDIR(found.st_mode):
        return Level.WRONG, f"{root} is not a directory", another
    if not is_own(found):
        fix = f"run: sudo chown -R $USER {quote(str(root))}"
        return Level.WRONG, f"{root} belongs to another user", fix
    if place.data.is_open():
        writable = bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
        level = Level.WRONG if writable else Level.NOTE
        fix = f"run: chmod 700 {quote(str(root))}"
        return level, f"{root} is open to other users", fix
    for path in (root, place.data.plugins, place.data.build):
        if os.path.exists(path) and not os.access(path, os.W_OK | os.X_OK):
            fix = f"make it writable, or {another}"
            return Level.WRONG, f"{path} cannot be written", fix
    check_above(root, "--data-dir")
    check_directory_host(place)
    return Level.OK, str(root), ""


def _token(place: Paths) -> _Found:
    try:
        read_token(place.data.token)
    except FileNotFoundError:
        return Level.NOTE, "missing; the first start creates it", ""
    return Level.OK, f"{place.data.token}; only you can read it", ""


def _state(place: Paths) -> Iterator[Finding]:
    """Check the settings, an interrupted operation, and what is installed."""
    journal, view = Journal(place.data.journal), None
    try:
        view = read_state(place.data.state)
    except RepairableError as e:
        yield Finding("settings", Level.WRONG, str(e), _loss(place))
    except StoreError as e:
        yield Finding("settings", *_wrong(e))
    else:
        yield Finding("settings", Level.OK, _counted(view))
    try:
        exchange = journal.read()
        if exchange is not None and not is_held(place.data.lock):
            text = f"an {exchange.op} of {exchange.plugin_id} was interrupted"
            fix = "a start completes or undoes it; nothing else is lost"
            yield Finding("journal", Level.NOTE, text, fix)
    except JournalError as e:
        fix = "follow this message, then start the daemon"
        yield Finding("journal", Level.WRONG, str(e), fix)
    # What an operation has under way, or left, will be settled.
    if view is not None and not os.path.exists(place.data.journal):
        yield from _installed(place, read_records(view))


def _counted(view: Tables) -> str:
    return counted(sum(len(view.entries(ns)) for ns in view.namespaces()), "value")


def _installed(place: Paths, records: Mapping[str, Record]) -> Iterator[Finding]:
    """Find trees without a record, and plugins that were changed, or are gone."""
    trees = Trees(place.data, place.profile, str)
    for path in _trees(place.data):
        if not path.name.startswith(".") and path.name not in records:
            text = f"{path} belongs to no installed plugin"
            fix = "move it elsewhere; then you can install the plugin again"
            yield Finding("plugin tree", Level.WRONG, visible(text), fix)
    for broken in trees.listing(records).broken:
        text = f"{broken.id} is left out of the next build: {broken.reason}"
        fix = f"uninstall it and install it again, from {records[broken.id].url}"
        yield Finding("plugin", Level.WRONG, visible(text), visible(fix))


def _loss(place: Paths) -> str:
    """Return what a start would lose of damaged settings."""
    previous = Generations(place.data.state).previous
    aside = "make a copy of both files first"
    view = None
    with suppress(StoreError):
        view = read_state(previous)
    if view is None or not os.path.exists(previous):
        return f"a start would lose all settings, and forget every plugin; {aside}"
    kept = f"{_counted(view)}, {counted(len(read_records(view)), 'plugin')}"
    return (
        f"a start would load the previous version ({kept}), and lose the last change; "
        f"{aside}"
    )


def _bundler(place: Paths) -> _Found:
    pin = pin_for()
    if pin is None:
        return Level.WRONG, f"no esbuild {VERSION} for this system", ""
    try:
        place.data.checked(place.data.bin)
    except NotOwnError as e:
        return Level.WRONG, f"bin/{BINARY_NAME} may be another user's work", e.fix
    if installed_bundler(place.data, pin):
        return Level.OK, f"esbuild {VERSION}, with the right digest", ""
    if not os.path.exists(place.data.bin / BINARY_NAME):
        return Level.WRONG, f"bin/{BINARY_NAME} is missing", setup_advice(place)
    if runnable(place.data):
        text = f"bin/{BINARY_NAME} is another build than the pinned one; the daemon "
        text += f"builds with it if it is esbuild {VERSION}"
        return Level.NOTE, text, setup_advice(place, "--force")
    text = f"bin/{BINARY_NAME} is not what bin/{CHECKSUM_NAME} says, so the daemon "
    return Level.WRONG, f"{text}cannot build", setup_advice(place)


def _sources(place: Paths) -> _Found:
    missing = missing_sources(place)
    if missing:
        text = f"{missing[0]} is missing, so the daemon cannot build"
        return Level.WRONG, text, setup_advice(place)
    text, _, fix = sources_problem(place).partition("; ")
    return (Level.NOTE, text, fix) if text else (Level.OK, "installed", "")


def _theme(place: Paths) -> _Found:
    if problem := theme_problem(place):
        return _wrong(problem)
    if os.path.isfile(place.bundle):
        return Level.OK, f"{place.bundle} is published", ""
    return Level.NOTE, f"no bundle in {place.theme_dir} yet", setup_advice(place)


def _databases(place: Paths) -> Iterator[Finding]:
    for alias in sorted(place.profile.databases):
        path = place.profile.database(alias, place.data.root)
        name = f"database {alias}"
        if os.path.isfile(path):
            yield Finding(name, Level.OK, str(path))
        else:
            yield Finding(name, Level.NOTE, f"{path} does not exist yet")


def daemon(place: Paths, listen: Address) -> tuple[Finding, bool]:
    """
    Check whether a daemon runs, and whether one could.

    :param listen: The address it would listen on.
    :return: What was found, and whether one runs with ``--dev``.
    """
    name = "daemon"
    service.wake(place)
    if is_held(place.data.lock):
        try:
            address = listens_on(place.data)
        except (OSError, ValueError):
            return Finding(name, Level.NOTE, "starting or shutting down"), False
        try:
            session = connect(place)
        except UserError as e:
            level, why, fix = _wrong(e)
            text = f"running, but cannot be used: {why}"
            return Finding(name, level, text, fix or "restart it"), False
        session.close()
        version = visible(str(session.welcome.get("version")))
        text = f"version {version} listens on {address}"
        if session.is_dev:
            text += f" with --dev: {UNASKED}"
            fix = "restart it without --dev, unless you develop plugins"
            return Finding(name, Level.NOTE, text, fix), True
        if problem := session.upgrade_problem():
            why, _, fix = problem.partition("; ")
            return Finding(name, Level.NOTE, f"{text}; {why}", fix), False
        return Finding(name, Level.OK, text), False
    if is_taken(listen):
        who, fix = _listener(place, listen)
        return Finding(name, Level.WRONG, f"{who} listens on {listen}", fix), False
    text = f"not running; {listen} is free"
    return Finding(name, Level.NOTE, text, _start(place)), False


def _listener(place: Paths, listen: Address) -> tuple[str, str]:
    """Return who listens on an address that is taken, and what to do."""
    fix = "stop it, or choose another address with --listen"
    for name, data in other_daemons(place):
        with suppress(OSError, ValueError):
            if listens_on(data) == listen:
                fix = f"if you mean that one, add --host {name}; else {fix}"
                return f"the daemon of the host {name}", fix
    return "another program, or a daemon with another data directory,", fix


def _start(place: Paths) -> str:
    """Return how to start the daemon: once, and where that can be, at each login."""
    if service.is_service_of(place) and not service.is_hiding():
        return f"run: systemctl --user start {service.unit_to_start()}"
    start = f"run: plugin-bridge run {place.typed}"
    at_login = service.starting_at_login(place)
    if at_login and not missing_sources(place):
        start += f", or, to start it at each login: {at_login}"
    return start


async def notification_server(
    notifications: Notifications, no_prompts: bool = False
) -> Finding:
    """
    Find the program that shows prompts, and how to answer them there.

    :param no_prompts: Whether none is needed, as with ``--dev``.
    """
    name = "notification server"
    try:
        server = await notifications.find()
    except DesktopError as e:
        text, fix = f"no prompt can be shown: {e}", _server_fix()
    else:
        called = visible(f"{server.name} {server.version}")
        able = visible(", ".join(sorted(server.capabilities)))
        if "actions" in server.capabilities:
            click = ANSWERING.get(server.name.lower(), "click Confirm or Deny")
            text = f"{called}: {click} (it supports: {able})"
            return Finding(name, Level.OK, text)
        text = f"{called} has no buttons, so prompts are refused (it supports: {able})"
        fix = "use one with actions, such as dunst"
    if no_prompts:
        return Finding(name, Level.NOTE, f"{text}; with --dev no prompt is needed")
    return Finding(name, Level.WRONG, text, fix)


def _server_fix() -> str:
    desktops = os.environ.get("XDG_CURRENT_DESKTOP", "").split(":")
    if not _WITH_SERVER.isdisjoint(desktops):
        return "log in again, or restart the desktop's notification server"
    return "log in to a desktop, which ssh is not, or install one, such as dunst"


def finding_lines(findings: list[Finding]) -> Iterator[str]:
    """Format findings for people: a line for each, and its fix, in full once."""
    said = set()
    marks = {Level.OK: "ok   ", Level.NOTE: "note ", Level.WRONG: "WRONG"}
    for finding in findings:
        yield f"{marks[finding.level]} {finding.name}: {finding.text}"
        if finding.fix:
            yield f"      {'as above' if finding.fix in said else finding.fix}"
            said.add(finding.fix)
