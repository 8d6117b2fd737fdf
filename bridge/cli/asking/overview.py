"""What ``plugin-bridge status`` shows: at most ten lines about one installation."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from attrs import asdict

from ...classes import frozen
from ...datadir.paths import DataDir
from ...protocol.text import timestamp, visible
from ...settings.host import SHIPPED, load_profile
from ...settings.options import Paths
from ...system.locks import is_held

_SHOWN_PROBLEMS: Final = 3


@frozen
class Overview:
    """
    The state of an installation.

    :ivar daemon: Its version and where it was asked; ``None`` when none runs.
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

    def fields(self) -> dict[str, Any]:
        """Return the fields in JSON."""
        return asdict(self)

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


def built_at(bundle: Path) -> str | None:
    """Return when a bundle was published; ``None`` when there is none."""
    try:
        return timestamp(bundle.stat().st_mtime, "seconds")
    except OSError:
        return None


def host_of(place: Paths) -> str:
    """Return the name of the host application."""
    return f"{place.profile.application} ({place.profile.name})"


def others_running(place: Paths) -> list[str]:
    """Return a line for each other host whose daemon runs, where it usually does."""
    profiles = (load_profile(name) for name in SHIPPED if name != place.profile.name)
    return [
        f"the host {profile.name} has a daemon that runs; for its status, run: "
        f"plugin-bridge status --host {profile.name}"
        for profile in profiles
        if is_held(DataDir(profile.data_dir()).lock)
    ]


def problems_of(
    described: Any, plugins: list[dict[str, Any]], built: str | None
) -> list[str]:
    """
    List what is wrong with a running daemon.

    :param described: What ``welcome`` has of the services.
    :param plugins: See ``bridge.cli.asking.installed.read_plugins``.
    :param built: See ``built_at``.
    """
    about = described.get("plugins", {})
    problems = []
    if reason := about.get("cannotBuild"):
        problems.append(str(reason))
    elif built is None:
        problems.append("there is no bundle; run: plugin-bridge doctor")
    confirmation = str(about.get("confirmation", ""))
    if "remote" in described:
        problems.append("--dev is on: EVERY operation is approved without asking")
    elif confirmation.startswith("none"):
        problems.append(f"confirmation is not possible: {confirmation}")
    problems += [
        f"{plugin['id']} is not in the bundle: {plugin['problem']}"
        for plugin in plugins
        if plugin.get("problem")
    ]
    return problems
