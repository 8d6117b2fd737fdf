"""``plugin-bridge open`` and ``demo``: the shipped host as an application."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import click
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import globalLogBeginner

from ... import tap
from ...plugins.esbuild.executable import pin_for
from ...protocol.errors import UserError
from ...protocol.limits import BUILD_SECONDS
from ...provision.readiness import OWN_HOST, build_problem
from ...provision.service import wake
from ...provision.setup import Setup, needs_npm
from ...settings.config import Config
from ...settings.host import Paths, locate
from ...settings.options import daemon_command, parsed
from ...system.locks import holder, is_held
from ...system.processes import ends_with_terminal, on_hangup
from ...system.reactor import run_once, steady_reactor, stop
from .. import PROGRAM
from ..command import command, page_port_option
from ..forge import make_authority, sample_repository, start_forge
from ..hostpage import browse, check_own_host, page_endpoint, serve_page
from ..session import UNASKED, connect
from ..terminal import CommandError, confirmed, print_line

PAGE_PORT: Final = 42082
"""Fixed, so that a browser stays paired: it keeps the token by the page's address."""

_LOOK_SECONDS: Final = 0.05
_START_SECONDS: Final = 30.0


@command(
    "open",
    "--host reference",
    status="Exit status: 0 ended by Ctrl-C, 1 failed, 2 wrong usage, 3 the daemon that "
    "runs was started without --dev.",
)
@page_port_option(PAGE_PORT)
@click.option("--yes", is_flag=True, help="Set up what is missing without asking.")
@click.option("--no-browser", is_flag=True, help="Only print the page's address.")
@click.option(
    "--dev",
    is_flag=True,
    help="Start the daemon in developer mode, which approves everything.",
)
def open_(place: Paths, page_port: int, yes: bool, no_browser: bool, dev: bool) -> None:
    """
    Show the page of the host reference in your browser, connected.

    It sets up what is missing, and starts the daemon unless one runs; then that daemon
    ends with it. Ctrl-C ends it.
    """
    check_own_host(place)
    reactor = steady_reactor()
    end_with_terminal(reactor)
    if build_problem(place):
        set_up(place, yes)

    async def show() -> None:
        await find_daemon(reactor, place, ["--dev"] * dev)
        page = serve_page(reactor, place, page_port)
        print_line(f"Open  {page}\nCtrl-C ends it.")
        if not no_browser:
            browse(reactor, place, page)

    until_ctrl_c(reactor, show)


def end_with_terminal(reactor: Any) -> None:
    """Have the closing of the terminal end the command, once, as Ctrl-C does."""

    def closed(*_: object) -> None:
        # Both the system and a shell may send the signal.
        on_hangup(lambda *_: None)
        if not reactor.running:
            raise KeyboardInterrupt
        reactor.callFromThread(stop, reactor)

    if ends_with_terminal():
        on_hangup(closed)


def set_up(place: Paths, yes: bool) -> None:
    """
    Install what a build needs; what has to be downloaded, if the user wants that.

    :raise UserError: The user does not, or can't be asked; or it failed.
    """
    what = f"esbuild and the page's library, about 5 MB, into {place.data.root}"
    pin = pin_for()
    asks = not yes and pin is not None and needs_npm(place.data, pin)
    if asks and not confirmed(
        f"This downloads {what} with npm. Go on?", f"it has to download {what}", True
    ):
        raise CommandError("nothing was set up")
    Setup(place, print_line).install()


@command("demo", "--open", table=())
@click.option("--open", "opens", is_flag=True, help="Open the page in your browser.")
def demo(opens: bool) -> None:
    """
    Start a daemon, the reference page, and a git server with a signed sample plugin.

    Everything is temporary and local to this machine; Ctrl-C stops and removes it. The
    demo needs the Python package trustme.
    """
    reactor = steady_reactor()
    end_with_terminal(reactor)
    with TemporaryDirectory(prefix="plugin-bridge-demo-") as root:
        place = locate(OWN_HOST, Path(root) / "data", None)
        certificate, plugin = prepare_demo(reactor, Path(root), place)
        print_line(
            "- starting the daemon in developer mode, which installs without asking"
        )
        options = ["--dev", "--listen=127.0.0.1:0", f"--ca-file={certificate}"]

        async def show() -> None:
            await find_daemon(reactor, place, options)
            # As the daemon is one with --dev, the page may evaluate its snippets.
            page = serve_page(reactor, place, 0, snippets=True)
            print_line(
                "\nOpen the page, install the plugin, and reload.\n\n"
                f"  Page:    {page}\n"
                f"  Plugin:  {plugin}\n"
                f"  Data:    {place.data.root}\n\n"
                "In another terminal, when the page is open:\n\n"
                f"  {typed_name()} eval {place.typed} 'return document.title'\n\n"
                "Ctrl-C ends the demo."
            )
            if opens:
                browse(reactor, place, page)

        until_ctrl_c(reactor, show)


def prepare_demo(reactor: Any, root: Path, place: Paths) -> tuple[Path, str]:
    """
    Set up a daemon's directory, and a git server that has the sample plugin.

    :param root: An empty directory.
    :return: The certificate that the daemon has to trust, and the plugin's address.
    :raise CommandError: What the git server needs is missing.
    :raise SetupError: What a build needs can't be installed.
    """
    certificate = root / "ca.pem"
    # First, as it is what a machine may lack.
    authority = make_authority(certificate)

    def report(line: str) -> None:
        print_line(f"- {line}")

    Setup(place, report).install()
    report("publishing a signed sample plugin on a git server with its own certificate")
    repository = sample_repository(place.profile, os.urandom, int(time.time()))
    return certificate, start_forge(reactor, repository, authority)


def typed_name() -> str:
    """Return what another terminal has to type for this program."""
    if shutil.which(PROGRAM):
        return PROGRAM
    return shlex.quote(str(Path(sys.executable).with_name(PROGRAM)))


def until_ctrl_c(reactor: Any, begin: Callable[[], Awaitable[None]]) -> None:
    """
    Run the reactor until Ctrl-C.

    :param begin: What it does first.
    :raise UserError: It could not.
    """

    async def begun() -> None:
        await begin()
        await Deferred[None]()

    with suppress(KeyboardInterrupt):
        run_once(reactor, begun)


async def find_daemon(reactor: Any, place: Paths, options: Sequence[str]) -> None:
    """
    Find the daemon that runs, or start one, and wait for its bundle.

    :param options: Of the daemon, if one has to be started.
    :raise UserError: There is none, or not one that ``options`` ask for.
    """
    data, dev = place.data, "--dev" in options
    wake(place)
    started = None if is_held(data.lock) else start_daemon(reactor, place, options)
    if started is not None:
        print_line("started the daemon")
        approves_all = started.dev
    else:
        why, what_next = "the daemon did not start", f"its log is {data.daemon_log}"
        await _until(reactor, data.address, _START_SECONDS, why, what_next)
        approves_all = False
        try:
            with closing(connect(place, dev=dev)) as session:
                approves_all = session.is_dev
        except UserError:
            # The page is shown also of a daemon that no command reaches.
            if dev:
                raise
        print_line(f"using the daemon that runs at {page_endpoint(place)}")
    if approves_all and not dev:
        print_line(f"--dev is on: {UNASKED}")
    why, what_next = "no bundle was built", f"run: plugin-bridge doctor {place.typed}"
    await _until(reactor, place.bundle, BUILD_SECONDS, why, what_next)


def start_daemon(reactor: Any, place: Paths, options: Sequence[str]) -> Config | None:
    """
    Start a daemon in this process, which the reactor's shutdown ends.

    :return: Its options; ``None`` where another process was faster.
    :raise UserError: It cannot start.
    """
    line = [
        *place.options,
        # A variable, or config.toml, may name others.
        f"--data-dir={place.data.root}",
        f"--theme-dir={place.theme_dir}",
        *options,
    ]
    given = tap.Options(parsed(daemon_command(), line, f"{PROGRAM} run"))
    given.read()  # a variable may ask for a mode, which belongs to ``run``
    try:
        daemon = tap.assemble(reactor, given)
    except UserError:
        if holder(place.data.lock) in (None, os.getpid()):
            raise
        return None
    # The terminal is for its reader; the daemon keeps its log lines itself.
    globalLogBeginner.beginLoggingTo([], True, redirectStandardIO=False)
    reactor.addSystemEventTrigger("before", "shutdown", daemon.stopService)
    daemon.startService()
    return given.config


async def _until(
    reactor: Any, file: Path, seconds: float, why: str, what_next: str
) -> None:
    """Wait until a file is there."""
    end = reactor.seconds() + seconds
    while not file.exists():
        if reactor.seconds() > end:
            raise CommandError(f"{why} within {seconds:g} s; {what_next}")
        await deferLater(reactor, _LOOK_SECONDS)
