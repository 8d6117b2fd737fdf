"""``plugin-bridge status``: everything about one installation, in ten lines."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from attrs import asdict

from ...classes import frozen
from ...datadir.paths import DataDirError
from ...plugins.installed.records import read_records
from ...protocol.errors import BridgeError
from ...protocol.text import timestamp, visible
from ...provision.hostsources import check_directory_host
from ...provision.readiness import build_problem
from ...settings.host import Paths
from ...store.state import HOST, StoreError, Tables, read_state
from ...system.locks import is_held
from ..command import (
    EXIT_STATUS,
    NO_DAEMON,
    REFUSED,
    NoDaemonError,
    command,
    json_option,
)
from ..session import UNASKED, Session, connect, is_on
from ..terminal import print_result

_SHOWN_PROBLEMS: Final = 3


@frozen
class Overview:
    """
    The state of an installation.

    :ivar daemon: Its version, or that it cannot be reached; ``None`` when none runs.
    :ivar host: The host application's name, and the profile's in parentheses.
    :ivar data: The data directory.
    :ivar bundle: Where the bundle is published.
    :ivar built: When it was built, ISO 8601 in UTC; ``None`` when there is none.
    :ivar confirmation: How prompts are shown; ``None`` without a daemon.
    :ivar plugins: How many are installed.
    :ivar off: Ids of those that are switched off.
    :ivar updates: Ids of those that are behind; ``None`` when that is not known.
    :ivar unknown: Ids of those of which it is not known, or not yet.
    :ivar problems: What is wrong, the most important first.
    """

    daemon: str | None
    host: str
    data: str
    bundle: str
    built: str | None
    confirmation: str | None
    plugins: int
    off: list[str]
    updates: list[str] | None
    unknown: list[str]
    problems: list[str]

    def lines(self) -> list[str]:
        """Format the overview for people, in at most ten lines."""
        off = f", off: {', '.join(self.off)}" if self.off else ""
        updates = "not known" if self.updates is None else ", ".join(self.updates)
        unknown = f"not known for {', '.join(self.unknown)}" if self.unknown else ""
        shown = self.problems[:_SHOWN_PROBLEMS]
        more = len(self.problems) - len(shown)
        wrong = [f"problem: {text}" for text in shown] or ["problems: none"]
        if more:
            wrong[-1] += f" (and {more} more: plugin-bridge status --json)"
        lines = [
            f"daemon: {self.daemon or 'not running'}",
            f"host: {self.host}",
            f"data: {self.data}",
            f"bundle: {self.bundle}, "
            + (f"built {self.built}" if self.built else "not built yet"),
            f"confirmation: {self.confirmation or 'not known'}",
            f"plugins: {self.plugins}{off}",
            f"updates: {'; '.join(filter(None, (updates, unknown))) or 'none'}",
        ]
        return [visible(line) for line in (*lines, *wrong)]


@command("status", "--host reference", status=EXIT_STATUS)
@json_option
def status(place: Paths, as_json: bool) -> int:
    """
    Show the daemon, the host, the bundle, the plugins, what can be updated, and the
    problems, in at most ten lines.

    Without a daemon, show what is on the disk, and which other host's daemon runs.
    plugin-bridge doctor checks more.
    """
    try:
        with closing(connect(place, as_json)) as found:
            overview, result = of_daemon(found), 0
    except NoDaemonError as e:
        overview = on_disk(place, str(e))
        result = REFUSED if overview.daemon else NO_DAEMON
    print_result(as_json, asdict(overview), overview.lines())
    return result


def of_daemon(session: Session) -> Overview:
    """Ask the running daemon for its state."""
    welcome = session.welcome
    plugins = session.plugins()
    updates, unknown = None, []
    with suppress(BridgeError):
        answer = session.call("plugins", "check_updates")
        updates = [one["id"] for one in answer["updates"]]
        unknown = [*(one["id"] for one in answer["unknown"]), *answer["pending"]]
    about = welcome["services"]["plugins"]
    built = built_at(Path(about["bundle"]))
    return Overview(
        daemon=f"running, version {welcome['version']}",
        host=f"{about['application']} ({about['host']})",
        data=str(Path(about["pluginsDir"]).parent),
        bundle=str(about["bundle"]),
        built=built,
        confirmation=str(about["confirmation"]),
        plugins=len(plugins),
        off=[plugin["id"] for plugin in plugins if not plugin["enabled"]],
        updates=updates,
        unknown=unknown,
        problems=problems_of(session, plugins, built),
    )


def on_disk(place: Paths, why: str) -> Overview:
    """
    Return what can be known without a daemon.

    :param why: Why there is none, and how to start one.
    """
    problems = [why]
    if reason := build_problem(place):
        problems.append(reason)
    view = Tables()
    try:
        check_directory_host(place)
        view = read_state(place.data.state)
    except (DataDirError, StoreError) as e:
        problems.append(str(e))
    installed, switches = read_records(view), view.entries(HOST)
    runs = is_held(place.data.lock)
    return Overview(
        daemon="running, but it cannot be reached" if runs else None,
        host=f"{place.profile.application} ({place.profile.name})",
        data=str(place.data.root),
        bundle=str(place.bundle),
        built=built_at(place.bundle),
        confirmation=None,
        plugins=len(installed),
        off=[name for name in installed if not is_on(name, switches, place.profile)],
        updates=None,
        unknown=[],
        problems=problems,
    )


def built_at(bundle: Path) -> str | None:
    """Return when a bundle was published; ``None`` when there is none."""
    try:
        return timestamp(bundle.stat().st_mtime, "seconds")
    except OSError:
        return None


def problems_of(
    session: Session, plugins: list[dict[str, Any]], built: str | None
) -> list[str]:
    """
    List what is wrong with a running daemon.

    :param plugins: See ``Session.plugins``.
    :param built: See ``built_at``.
    """
    about, where = session.welcome["services"]["plugins"], session.place.typed
    problems = []
    if older := session.upgrade_problem():
        problems.append(older)
    if reason := about.get("cannotBuild"):
        problems.append(str(reason))
    elif built is None:
        problems.append(f"there is no bundle; run: plugin-bridge setup {where}")
    if session.is_dev:
        problems.append(f"--dev is on: {UNASKED}")
    elif not session.shows_prompts:
        problems.append(
            "plugins can't be installed or updated, since no prompt can be shown; run: "
            f"plugin-bridge doctor {where}"
        )
    problems += [
        f"{plugin['id']} is left out of builds: {plugin['problem']}"
        for plugin in plugins
        if plugin.get("problem")
    ]
    return problems
