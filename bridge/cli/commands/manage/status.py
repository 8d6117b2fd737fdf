"""``plugin-bridge status``: everything about one installation, in ten lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ....plugins.installed.ids import installed_ids
from ....protocol.errors import BridgeError
from ....provision.readiness import build_problem
from ....settings.options import Paths
from ....store import StoreError, read_state
from ...asking.client import NoDaemonError
from ...asking.installed import NAMESPACE, SWITCH, read_plugins
from ...asking.overview import (
    Overview,
    built_at,
    host_of,
    others_running,
    problems_of,
)
from ...asking.session import (
    EXIT_STATUS,
    NO_DAEMON,
    ManageOptions,
    Session,
    ended,
    session,
)
from ...terminal import print_json, print_line


class StatusOptions(ManageOptions):
    """The command line of ``plugin-bridge status``."""

    synopsis = "Usage: plugin-bridge status [--json] [--host NAME|PATH]"
    longdesc = (
        "Shows the daemon, the host, the bundle, the plugins, what can be updated, and "
        "the problems, in at most ten lines. Without a daemon it shows what is on the "
        f"disk, and which other host's daemon runs. plugin-bridge doctor checks more. "
        f"{EXIT_STATUS}"
    )


def main(arguments: list[str]) -> int:
    """Show the status and return the exit status."""
    options = StatusOptions()
    options.parseOptions(arguments)
    place = options.paths()

    def run() -> int:
        try:
            with session(options, options.json) as found:
                return show(found)
        except NoDaemonError as e:
            overview = on_disk(place, str(e))
            if options.json:
                print_json(overview.fields(), False)
            else:
                for line in overview.lines():
                    print_line(line)
            return NO_DAEMON

    return ended("status", run, options.json)


def show(session: Session) -> int:
    """Show the status of the running daemon; return the exit status."""
    overview = of_daemon(session)
    session.print(overview.fields(), overview.lines())
    return 0


def of_daemon(session: Session) -> Overview:
    """Ask the running daemon for its state."""
    welcome = session.connection.welcome
    described = welcome["services"]
    plugins = read_plugins(session)
    try:
        answer = session.call("plugins", "check_updates")
    except BridgeError:
        answer = None
    about = described["plugins"]
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
        updates=None if answer is None else [one["id"] for one in answer["updates"]],
        unknown=[] if answer is None else not_known(answer),
        problems=problems_of(described, plugins, built),
    )


def not_known(answer: dict[str, Any]) -> list[str]:
    """Return the ids of plugins of which it is not known whether they are behind."""
    return [*(one["id"] for one in answer["unknown"]), *answer["pending"]]


def on_disk(place: Paths, why: str) -> Overview:
    """
    Return what can be known without a daemon.

    :param why: Why there is none, and how to start one.
    """
    problems = [why, *others_running(place)]
    if reason := build_problem(place):
        problems.append(reason)
    installed: list[str] = []
    switches: dict[str, object] = {}
    try:
        view = read_state(place.data.state)
        installed = installed_ids(view)
        switches = view.entries(NAMESPACE)
    except StoreError as e:
        problems.append(str(e))
    return Overview(
        daemon=None,
        host=host_of(place),
        data=str(place.data.root),
        bundle=str(place.bundle),
        built=built_at(place.bundle),
        confirmation=None,
        plugins=len(installed),
        off=[name for name in installed if switches.get(SWITCH + name) is False],
        updates=None,
        unknown=[],
        problems=problems,
    )
