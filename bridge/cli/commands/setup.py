"""The commands that make an installation and take it away: ``setup``, ``remove``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from ...plugins.esbuild.executable import VERSION
from ...provision.removal import check_removable, published, remove_all
from ...provision.service import UNIT, install_service, is_service_of, remove_service
from ...provision.setup import LIBRARY, Setup
from ...provision.setup import download as download_into
from ...settings.config import config_path
from ...settings.host import Paths
from ...system.locks import holder
from ..authoring.worktree import default_key_file
from ..command import command, path_option
from ..terminal import CommandError, confirmed, first_of, print_line, reported

_SHOWN_LINES: Final = 11
"""Of what the bundler says; host sources that don't fit have hundreds."""

_STATUS: Final = f"systemctl --user status {UNIT.removesuffix('.service')}"


@command(
    "setup",
    "--host reference --service",
    status="Exit status: 0 everything is installed and the bundle is built, 1 "
    "something is missing, 2 wrong usage.",
)
@path_option(
    "--bundler",
    metavar="FILE",
    help=f"Binary of esbuild {VERSION}, or its package as npm pack writes it.  "
    "[default: (the one that ships with plugin-bridge, or else from npm)]",
)
@path_option(
    "--host-sources",
    metavar="DIR|FILE",
    help="The host's sources: a directory or tar archive with packages/api/src and "
    "packages/host/src.",
)
@path_option(
    "--library",
    metavar="FILE",
    help=f"The package {LIBRARY.spec}, which the reference host's page is made with, "
    "as npm pack writes it.  [default: (the one that ships with plugin-bridge, or else "
    "from npm)]",
)
@path_option(
    "--download",
    metavar="DIR",
    help="Only download the bundler and the library into a directory, for a computer "
    "without npm.",
)
@click.option("--force", is_flag=True, help="Reinstall everything.")
@click.option(
    "--service",
    is_flag=True,
    help="Start the daemon now and at each login, by systemd.",
)
@click.option(
    "--bundler-only",
    is_flag=True,
    help="Install only the bundler, for plugin-bridge check.",
)
def setup(
    place: Paths,
    bundler: Path | None,
    host_sources: Path | None,
    library: Path | None,
    download: Path | None,
    force: bool,
    service: bool,
    bundler_only: bool,
) -> None:
    """
    Install the bundler (esbuild, verified by its digest) and the sources of the host
    application's plugin system, and build the bundle.

    Run it once before you run the daemon. It does not reinstall what is up to date.
    With --service it also writes a systemd user unit, which starts the daemon now and
    at each login; the Debian package has one already.
    """
    given = {"bundler-only": bundler_only, "download": download, "service": service}
    chosen = [f"--{name}" for name, value in given.items() if value]
    chosen += ["--host-sources"] * bool(host_sources and not service)
    if len(chosen) > 1:
        raise click.UsageError(f"{chosen[0]} and {chosen[1]} exclude each other")
    if download:
        with reported("--download"):
            download_into(download, print_line)
        return
    wanted = Setup(place, print_line, bundler, host_sources, library, force)
    wanted.install(bundler_only=bundler_only)
    if bundler_only:
        print_line(f"the bundler is installed in {place.data.root}")
        return
    print_line(f"everything is installed in {place.data.root}")
    _build(place)
    if service:
        if replaced := install_service(place.data, _service_options(place)):
            print_line(f"this replaces the service that had: {replaced}")
        print_line(f"the daemon runs now and after each login; see: {_STATUS}")


def _service_options(place: Paths) -> list[str]:
    """Name the data directory always: ``remove`` finds the service by it."""
    where = ["--data-dir", str(place.data.root)]
    return [*place.options, *(where if where[0] not in place.options else ())]


def _build(place: Paths) -> None:
    """
    Build the bundle.

    :raise CommandError: The page could not be built.
    """
    from ...system.reactor import run_once, steady_reactor
    from ...wiring import oneshot

    reactor = steady_reactor()
    report = run_once(reactor, lambda: oneshot.build(reactor, place))
    lines = first_of("\n".join(report.errors).split("\n"), _SHOWN_LINES)
    if not report.ok:
        raise CommandError("\n".join(lines))
    for line in filter(None, lines):
        print_line(line)
    print_line(f"the bundle is built: {place.bundle}")


@command("remove", "--host reference")
@click.option("--yes", is_flag=True, help="Remove it without asking.")
def remove(place: Paths, yes: bool) -> None:
    """
    Remove what plugin-bridge has made for a host: stop and disable the user service,
    and delete the bundle, its map, info.json, and the data directory with plugins,
    settings, accepted keys and token.

    It asks first, and leaves config.toml and your signing key. It refuses while a
    daemon runs that is not the service. The program itself stays; remove it as you
    installed it.
    """
    check_removable(place)
    service = is_service_of(place)
    running = holder(place.data.lock)
    if running is not None and not service:
        raise CommandError(place.data.used_by(running))
    lines = [f"the service {UNIT}"] * service + [*map(str, published(place))]
    lines += [str(place.data.root)] * place.data.root.exists()
    if not lines:
        print_line("there is nothing to remove")
        return
    if not yes:
        _agree(lines)
    if service:
        remove_service()
    remove_all(place)
    for line in lines:
        print_line(f"removed {line}")
    for path, what in (
        (config_path(), "your options"),
        (default_key_file(), "the key that your plugins are signed with"),
    ):
        if path.exists():
            print_line(f"left {path}, {what}")


def _agree(lines: list[str]) -> None:
    """
    Ask whether to remove what is listed.

    :raise CommandError: The user does not want that, or can't be asked.
    """
    for line in lines:
        print_line(f"This removes {line}")
    question = "Your plugins and settings are deleted. Go on?"
    if not confirmed(question, "it deletes your plugins and settings", False):
        raise CommandError("nothing was removed")
