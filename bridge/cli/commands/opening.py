"""``plugin-bridge open`` and ``demo``: the shipped host as an application."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import click
from attrs import field
from twisted.internet import defer
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from ...classes import define
from ...demo.child import spawn_daemon
from ...demo.forge import make_authority, publish_sample, start_forge
from ...protocol.errors import UserError
from ...protocol.limits import BUILD_SECONDS
from ...provision.readiness import OWN_HOST, build_problem
from ...provision.setup import Setup
from ...settings.options import Paths, locate
from ...system.locks import is_held
from .. import PROGRAM
from ..command import command, page_port_option
from ..connection import connect
from ..hostpage import HostPage, check_own_host, page_endpoint
from ..terminal import CommandError, confirmed, show

PAGE_PORT: Final = 42082
"""Fixed, so that a browser stays paired: it keeps the token by the page's address."""

_LOOK_SECONDS: Final = 0.05
_START_SECONDS: Final = 30.0


@command(
    "open",
    "Show the page of the host reference in your browser, connected. It sets up what "
    "is missing, and starts the daemon unless one runs; then that daemon ends with it. "
    "Ctrl-C ends it.",
    "--host reference",
    status="Exit status: 0 ended by Ctrl-C, 1 failed, 2 wrong usage.",
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
    """Show the page until Ctrl-C."""
    from twisted.internet import reactor

    check_own_host(place)
    if build_problem(place):
        set_up(place, yes)

    def opened(address: str) -> None:
        show(f"Open  {address}")
        show("Ctrl-C ends it.")

    page = HostPage(reactor, place)
    Opened(reactor, place, page, page_port, ["--dev"] * dev, opened).run(not no_browser)


def set_up(place: Paths, yes: bool) -> None:
    """
    Install what a build needs, if the user wants that.

    :raise UserError: The user does not, or can't be asked; or it failed.
    """
    what = f"esbuild and the page's library, about 11 MB, into {place.data.root}"
    if not yes and not confirmed(
        f"This downloads {what} with npm. Go on?", f"it has to download {what}", True
    ):
        raise CommandError("nothing was set up")
    Setup(place.profile, place.data, show).install()


@command(
    "demo",
    "Start a daemon, the reference page, and a git server with a signed sample plugin. "
    "Everything is temporary and local to this machine; Ctrl-C stops and removes it. "
    "The demo needs git and the Python package trustme.",
    "--open",
    table=(),
)
@click.option("--open", "opens", is_flag=True, help="Open the page in your browser.")
def demo(opens: bool) -> None:
    """Run the demo until Ctrl-C."""
    from twisted.internet import reactor

    with TemporaryDirectory(prefix="plugin-bridge-demo-") as root:
        place = locate(OWN_HOST, Path(root) / "data", None)
        certificate, plugin = prepare_demo(reactor, Path(root), place)
        show("- starting the daemon in developer mode, which installs without asking")
        options = ["--dev", "--listen=127.0.0.1:0", f"--ca-file={certificate}"]

        def opened(address: str) -> None:
            show(
                "\nOpen the page, install the plugin, and reload.\n\n"
                f"  Page:    {address}\n"
                f"  Plugin:  {plugin}\n"
                f"  Data:    {place.data.root}\n\n"
                "In another terminal, when the page is open:\n\n"
                f"  {typed_name()} eval {place.typed} 'return document.title'\n\n"
                "Ctrl-C ends the demo."
            )

        # As the daemon is one with --dev, the page may evaluate its snippets.
        page = HostPage(reactor, place, snippets=True)
        Opened(reactor, place, page, 0, options, opened).run(opens)


def prepare_demo(reactor: Any, root: Path, place: Paths) -> tuple[Path, str]:
    """
    Set up a daemon's directory, and a git server that has the sample plugin.

    :param root: An empty directory.
    :return: The certificate that the daemon has to trust, and the plugin's address.
    :raise ForgeError: What the git server needs is missing.
    :raise SetupError: What a build needs can't be installed.
    """
    certificate, repositories = root / "ca.pem", root / "git"
    # First, as it is what a machine may lack.
    authority = make_authority(certificate)

    def report(line: str) -> None:
        show(f"- {line}")

    Setup(place.profile, place.data, report).install()
    report("publishing a signed sample plugin on a git server with its own certificate")
    name = publish_sample(root, repositories, place.profile, os.urandom, time.time())
    forge = start_forge(reactor, repositories, authority, certificate)
    return certificate, forge.url(name)


def typed_name() -> str:
    """Return what another terminal has to type for this program."""
    if shutil.which(PROGRAM):
        return PROGRAM
    return shlex.quote(str(Path(sys.executable).with_name(PROGRAM)))


@define(eq=False)
class Opened:
    """
    The page, and a daemon, while they are shown.

    :ivar options: Of the daemon, if one has to be started.
    :ivar opened: Called with the page's address.
    :ivar failure: Why it ended, unless the user has ended it.
    """

    _reactor: Any
    _place: Paths
    _page: HostPage
    _port: int
    _options: list[str]
    _opened: Callable[[str], None]
    failure: str = field(default="", init=False)
    _leaving: bool = field(default=False, init=False)

    def run(self, browses: bool) -> None:
        """
        Show the page until Ctrl-C; runs the reactor.

        :param browses: Whether to open it in the user's browser.
        :raise CommandError: It ended otherwise.
        """
        self._reactor.callWhenRunning(self.begin, browses)
        self._reactor.run()
        self._page.forget()
        if self.failure:
            raise CommandError(self.failure)

    def begin(self, browses: bool) -> None:
        """Begin to show the page."""
        Deferred.fromCoroutine(self._run(browses)).addErrback(self._broke)

    async def _run(self, browses: bool) -> None:
        try:
            address = await self._address()
        except UserError as e:
            self.fail(str(e))
            return
        self._opened(address)
        if browses:
            self._page.browse(address, webbrowser.open)

    async def _address(self) -> str:
        data = self._place.data
        if is_held(data.lock):
            await self._wait(
                data.address.exists, _START_SECONDS, "the daemon has no address"
            )
            if "--dev" in self._options:
                connect(self._place, dev=True).close()
            show(f"using the daemon that runs at {page_endpoint(self._place)}")
        else:
            await self._start()
            show("started the daemon")
        await self._wait(
            self._place.bundle.exists, BUILD_SECONDS, "no bundle was built"
        )
        return self._page.serve(self._port)

    async def _start(self) -> None:
        daemon = spawn_daemon(self._reactor, self._place, *self._options)
        self._reactor.addSystemEventTrigger("before", "shutdown", self._leave)
        try:
            await daemon.listening.addTimeout(_START_SECONDS, self._reactor)
        except defer.TimeoutError:
            raise CommandError(
                f"the daemon did not start within {_START_SECONDS:g} s; its log is "
                f"{self._place.data.daemon_log}"
            ) from None
        daemon.ended.addCallback(lambda _: self._ended())

    def _leave(self) -> None:
        self._leaving = True

    def _ended(self) -> None:
        if not self._leaving:
            self.fail(f"the daemon has ended; its log is {self._place.data.daemon_log}")

    async def _wait(self, done: Callable[[], bool], seconds: float, why: str) -> None:
        end = self._reactor.seconds() + seconds
        while not done():
            if self._reactor.seconds() > end:
                raise CommandError(
                    f"{why} within {seconds:g} s; run: plugin-bridge doctor"
                )
            await deferLater(self._reactor, _LOOK_SECONDS)

    def fail(self, why: str) -> None:
        """End it."""
        self.failure = why
        # It may not be running yet, and then it can't be stopped.
        self._reactor.callLater(0, self._reactor.stop)

    def _broke(self, failure: Failure) -> None:
        self.fail(failure.getTraceback())
