"""``plugin-bridge dev``: a plugin in the bundle while its author works on it."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path

import click

from ....datadir.control import NotASocketError, control_address
from ....datadir.token import PairingToken, TokenError
from ....demo.page import Builds
from ....settings.config import BY_NAME, HOST_OPTIONS
from ....settings.options import Paths
from ...authoring.pagesteps import warnings_of
from ...command import NoDaemonError, command, directory_argument, page_port_option
from ...connection import check_running
from ...developing.pluginlog import PluginLog
from ...developing.session import Session
from ...hostpage import DevPage, HostPage
from ...terminal import CommandError, show


@command(
    "dev",
    "Link the plugin in DIR into the running daemon of the data directory, and rebuild "
    "the bundle whenever a file changes. The daemon must run with --dev. The plugin "
    "needs no signature, but the source policy applies. An installed plugin with the "
    "same id is not changed. With the host reference, it also serves a page and "
    "reloads it after each build. It shows the log lines of the plugin. Ctrl-C removes "
    "the link.",
    "--host reference --open .",
    table=(*HOST_OPTIONS, BY_NAME["log-file"]),
)
@page_port_option(0)
@click.option("--no-page", is_flag=True, help="Serve no page.")
@click.option("--open", "opens", is_flag=True, help="Open the page in your browser.")
@directory_argument
def dev(
    place: Paths,
    directory: Path,
    log_file: Path | None,
    page_port: int,
    no_page: bool,
    opens: bool,
) -> None:
    """Link a plugin until Ctrl-C."""
    from twisted.internet import reactor

    if not directory.is_dir():
        raise CommandError(f"there is no directory {directory}")
    start = shlex.join(["plugin-bridge", "run", "--dev", *place.options])
    nobody = f"no daemon with --dev uses {place.data.root}; run: {start}"
    try:
        check_running(place.data, start)
        address = control_address(place.data.control_socket)
        token = PairingToken.load(place.data.token)
    except (NoDaemonError, FileNotFoundError):
        raise CommandError(nobody) from None
    except NotASocketError as e:
        raise CommandError(str(e.strerror)) from None
    except TokenError as e:
        raise CommandError(str(e)) from None
    port = None if no_page else page_port
    builds = Builds(secrets.token_hex(8))
    page = DevPage(HostPage(reactor, place), port, opens, show, builds)
    log = PluginLog(log_file or place.data.log, reactor)
    root = directory.resolve()

    def warnings(plugin_id: str) -> list[str]:
        return warnings_of(root, plugin_id, place.profile)

    session = Session(reactor, root, page, log, show, token, nobody, warnings)
    reactor.callWhenRunning(session.begin, address)
    reactor.addSystemEventTrigger("before", "shutdown", session.end)
    reactor.run()
    page.stop()
    if session.failure:
        raise CommandError(session.failure)
