"""``plugin-bridge remove``: take an installation away again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

from ...provision.npm import SetupError
from ...provision.removal import check_removable, published, remove_all
from ...provision.service import UNIT, is_service_of, remove_service
from ...settings.configfile import config_path
from ...settings.options import HostOptions, Paths
from ...system.locks import holder
from ..authoring.keyfiles import default_key_file
from ..terminal import CommandError, failed, print_line


class RemoveOptions(HostOptions):
    """The command line of ``plugin-bridge remove``."""

    synopsis = "Usage: plugin-bridge remove [--yes] [--host NAME|PATH]"
    longdesc = (
        "Removes what plugin-bridge has made for a host: stops and disables the user "
        "service, and deletes the bundle, its map, info.json, and the data directory "
        "with plugins, settings, accepted keys and token. It asks first, and leaves "
        "config.toml and your signing key. It refuses while a daemon runs that is not "
        "the service. The program itself stays; remove it as you installed it. Exit "
        "status: 0 done, 1 refused, 2 wrong usage."
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["yes", None, "remove it without asking"]
    ]


def main(arguments: list[str]) -> int:
    """Remove an installation and return the exit status."""
    options = RemoveOptions()
    options.parseOptions(arguments)
    try:
        return remove(options.paths(), bool(options["yes"]), sys.stdin.isatty())
    except (CommandError, SetupError) as e:
        return failed("remove", str(e))


def remove(place: Paths, yes: bool, asks: bool) -> int:
    """
    Remove an installation; return the exit status.

    :param asks: Whether somebody can be asked.
    :raise CommandError: A daemon runs that can't be stopped, or nobody agrees.
    :raise SetupError: Something can't be removed.
    """
    check_removable(place)
    service = is_service_of(place.data)
    running = holder(place.data.lock)
    if running is not None and not service:
        why = f"a daemon uses {place.data.root} (process {running}); stop it first"
        raise CommandError(why)
    found = published(place)
    if place.data.root.exists():
        found.append(place.data.root)
    if not found and not service:
        print_line("there is nothing to remove")
        return 0
    lines = [f"the service {UNIT}"] * service + [str(path) for path in found]
    if not yes:
        _ask(lines, asks)
    if service:
        remove_service()
    remove_all(place)
    for line in lines:
        print_line(f"removed {line}")
    for path, what in _left():
        print_line(f"left {path}, {what}")
    return 0


def _ask(lines: list[str], asks: bool) -> None:
    """Ask whether to remove what is listed; raises ``CommandError`` unless so."""
    if not asks:
        raise CommandError("it deletes your plugins and settings; add --yes")
    for line in lines:
        print_line(f"This removes {line}")
    sys.stdout.write("Your plugins and settings are deleted. Go on? [y/N] ")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandError("nothing was removed")


def _left() -> list[tuple[Path, str]]:
    known = (
        (config_path(), "your options"),
        (default_key_file(), "the key that your plugins are signed with"),
    )
    return [(path, what) for path, what in known if path.exists()]
