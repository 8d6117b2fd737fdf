"""``plugin-bridge dev``: a plugin in the bundle while its author works on it."""

from __future__ import annotations

import secrets
import shlex
import sys
from pathlib import Path
from typing import Any, ClassVar

from ....datadir.control import NotASocketError, control_address
from ....datadir.token import PairingToken, TokenError
from ....demo.reloading import Builds
from ....settings.config import BY_NAME, HOST_OPTIONS, Option
from ...asking.client import NoDaemonError, check_running
from ...developing.page import DevPage
from ...developing.pluginlog import PluginLog
from ...developing.session import Session
from ...hostpage import HostPage, PageOptions, page_port
from ...terminal import CommandError, DirectoryArgument, failed


class DevOptions(DirectoryArgument, PageOptions):
    """The command line of ``plugin-bridge dev``."""

    table: ClassVar[tuple[Option, ...]] = (*HOST_OPTIONS, BY_NAME["log-file"])
    synopsis = (
        "Usage: plugin-bridge dev [--page-port PORT | --no-page] [--open] "
        "[--host NAME|PATH] [--data-dir DIR] DIR"
    )
    longdesc = (
        "Links the plugin in DIR into the running daemon of the data directory, and "
        "rebuilds the bundle whenever a file changes. The daemon must run with --dev. "
        "The plugin needs no signature, but the source policy applies. An installed "
        "plugin with the same id is not changed. With the host reference, it also "
        "serves a page and reloads it after each build. It shows the log lines of the "
        "plugin. Ctrl-C removes the link."
    )
    optParameters: ClassVar[list[list[str | None]]] = [page_port(0)]
    optFlags: ClassVar[list[list[str | None]]] = [
        ["no-page", None, "serve no page"],
        ["open", None, "open the page in your browser"],
    ]


def main(arguments: list[str]) -> int:
    """Link a plugin until Ctrl-C and return the exit status."""
    from twisted.internet import reactor

    options = DevOptions()
    options.parseOptions(arguments)
    return dev(reactor, options)


def dev(reactor: Any, options: DevOptions) -> int:
    """
    Link a plugin; runs the reactor.

    :return: The exit status: 0 when the user has ended it, or 1 after a line on
        standard error.
    """
    place = options.paths()
    naming = options.naming(place)
    root = Path(options["directory"])
    if not root.is_dir():
        return failed("dev", f"there is no directory {root}")
    start = shlex.join(["plugin-bridge", "run", "--dev", *naming])
    nobody = f"no daemon with --dev uses {place.data.root}; run: {start}"
    try:
        check_running(place.data, start)
        address = control_address(place.data.control_socket)
        token = PairingToken.load(place.data.token)
    except (NoDaemonError, FileNotFoundError):
        return failed("dev", nobody)
    except NotASocketError as e:
        return failed("dev", str(e.strerror))
    except (CommandError, TokenError) as e:
        return failed("dev", str(e))
    port = None if options["no-page"] else options["page-port"]
    builds = Builds(secrets.token_hex(8))
    host = HostPage(reactor, place)
    page = DevPage(host, port, bool(options["open"]), _say, builds)
    log = PluginLog(options.value("log-file") or place.data.log, reactor)
    session = Session(reactor, root.resolve(), page, log, _say, token, nobody)
    reactor.callWhenRunning(session.begin, address)
    reactor.addSystemEventTrigger("before", "shutdown", session.end)
    reactor.run()
    page.stop()
    return failed("dev", session.failure) if session.failure else 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
