"""``plugin-bridge open``: the shipped host as an application of its own."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click
from attrs import field
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from ...classes import define
from ...demo.child import ChildError, daemon_command, spawn_daemon
from ...protocol.limits import BUILD_SECONDS
from ...provision.npm import SetupError
from ...provision.readiness import build_problem
from ...provision.setup import Setup
from ...settings.options import Paths
from ...system.locks import is_held
from ..command import command, page_port_option
from ..hostpage import HostPage, check_own_host, page_endpoint
from ..terminal import CommandError, confirmed, show

PAGE_PORT: Final = 42082
"""Fixed, so that a browser stays paired: it keeps the token by the page's address."""

_LOOK_SECONDS: Final = 0.05
_START_SECONDS: Final = 15.0


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
    opened = Opened(reactor, place, page_port, dev)
    browser = None if no_browser else webbrowser.open
    reactor.callWhenRunning(opened.begin, browser)
    reactor.run()
    opened.close()
    if opened.failure:
        raise CommandError(opened.failure)


def set_up(place: Paths, yes: bool) -> None:
    """
    Install what a build needs, if the user wants that.

    :raise CommandError: The user does not, or can't be asked; or it failed.
    """
    what = f"esbuild and the page's library, about 11 MB, into {place.data.root}"
    if not yes and not confirmed(
        f"This downloads {what} with npm. Go on?", f"it has to download {what}", True
    ):
        raise CommandError("nothing was set up")
    try:
        Setup(place.profile, place.data, show).install()
    except SetupError as e:
        raise CommandError(str(e)) from None


@define(eq=False)
class Opened:
    """
    The page while it is shown.

    :ivar failure: Why it ended, unless the user has ended it.
    """

    _reactor: Any
    _place: Paths
    _port: int
    _dev: bool
    failure: str = field(default="", init=False)
    _leaving: bool = field(default=False, init=False)
    _page: HostPage = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._page = HostPage(self._reactor, self._place)

    def begin(self, browser: Callable[[str], object] | None) -> None:
        """
        Begin to show the page.

        :param browser: Opens an address.
        """
        Deferred.fromCoroutine(self._run(browser)).addErrback(self._broke)

    async def _run(self, browser: Callable[[str], object] | None) -> None:
        try:
            address = await self._address()
        except (ChildError, CommandError) as e:
            self.fail(str(e))
            return
        show(f"Open  {address}")
        show("Ctrl-C ends it.")
        if browser is not None:
            self._page.browse(address, browser)

    async def _address(self) -> str:
        if is_held(self._place.data.lock):
            endpoint = await self._published()
            show(f"using the daemon that runs at {endpoint}")
        else:
            endpoint = await self._start()
            show("started the daemon")
        await self._wait(
            self._place.bundle.exists, BUILD_SECONDS, "no bundle was built"
        )
        return self._page.serve(self._port)

    async def _published(self) -> str:
        """Return the address of the daemon that runs already, or just starts."""
        data = self._place.data
        await self._wait(
            data.address.exists, _START_SECONDS, "the daemon has no address"
        )
        return page_endpoint(self._place)

    async def _start(self) -> str:
        place = self._place
        theme = f"--theme-dir={place.theme_dir}"
        more = [theme, "--dev"] if self._dev else [theme]
        line = daemon_command(place.profile.name, place.data.root, *more)
        log = place.data.log.with_name("daemon.log")
        log.parent.mkdir(mode=0o700, exist_ok=True)
        log.unlink(missing_ok=True)
        daemon = spawn_daemon(self._reactor, line, log)
        self._reactor.addSystemEventTrigger("before", "shutdown", self._leave)
        endpoint = await daemon.listening
        daemon.ended.addCallback(lambda _: self._ended(log))
        return endpoint

    def _leave(self) -> None:
        self._leaving = True

    def _ended(self, log: Path) -> None:
        if not self._leaving:
            self.fail(f"the daemon has ended; its log is {log}")

    async def _wait(self, done: Callable[[], bool], seconds: float, why: str) -> None:
        end = self._reactor.seconds() + seconds
        while not done():
            if self._reactor.seconds() > end:
                raise CommandError(
                    f"{why} within {seconds:g} s; run: plugin-bridge doctor"
                )
            await deferLater(self._reactor, _LOOK_SECONDS)

    def close(self) -> None:
        """Remove what was for the browser alone."""
        self._page.forget()

    def fail(self, why: str) -> None:
        """End it."""
        self.failure = why
        self._reactor.callLater(0, self._reactor.stop)

    def _broke(self, failure: Failure) -> None:
        self.fail(failure.getTraceback())
