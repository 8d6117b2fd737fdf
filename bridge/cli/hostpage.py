"""The page of the reference host, served to the browsers of this computer."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from attrs import field
from twisted.internet.error import CannotListenError

from ..classes import define
from ..datadir.ownership import write_file
from ..datadir.token import PairingToken, TokenError
from ..demo.page import Builds, page_site
from ..provision.readiness import OWN_HOST
from ..settings.options import Paths
from ..settings.values import UnixAddress
from .connection import listens_on
from .terminal import CommandError

_LOOPBACK: Final = "127.0.0.1"


def check_own_host(place: Paths) -> None:
    """
    Check that this host's page ships with us.

    :raise CommandError: It does not.
    """
    if place.profile.name != OWN_HOST:
        raise CommandError(
            f"{place.profile.application} shows its page itself; plugin-bridge has "
            f"only that of the host {OWN_HOST}: add --host {OWN_HOST}"
        )


def page_endpoint(place: Paths) -> str:
    """
    Return the address of the running daemon, as the page's own address holds it.

    :raise CommandError: The page could not connect to it.
    """
    try:
        address = listens_on(place.data)
    except (OSError, ValueError):
        raise CommandError("the daemon's address cannot be read") from None
    if isinstance(address, UnixAddress) or address.host != _LOOPBACK:
        raise CommandError(
            f"it connects only to {_LOOPBACK}, and the daemon listens on {address}"
        )
    return f"http://{address}"


@define(eq=False)
class HostPage:
    """The page, with the bundle that the daemon publishes, until the reactor ends."""

    _reactor: Any
    _place: Paths

    def serve(
        self, port: int, snippets: bool = False, builds: Builds | None = None
    ) -> str:
        """
        Listen, and return the address of the page, which pairs it.

        :param port: 0 for a free one.
        :param snippets: See ``page_site``.
        :param builds: See ``page_site``.
        :raise CommandError: There can be no page.
        """
        check_own_host(self._place)
        endpoint = page_endpoint(self._place)
        try:
            token = PairingToken.load(self._place.data.token).reveal()
        except (OSError, TokenError):
            raise CommandError("the daemon's token cannot be read") from None
        bundle, name = self._place.bundle, self._place.profile.bundle_name
        site = page_site(bundle.parent, name, snippets, builds)
        try:
            listening = self._reactor.listenTCP(port, site, interface=_LOOPBACK)
        except CannotListenError:
            raise CommandError(
                f"port {port} cannot be used; choose one with --page-port"
            ) from None
        # What follows the # is not sent to any server.
        where = f"http://{_LOOPBACK}:{listening.getHost().port}/"
        return f"{where}#endpoint={quote(endpoint, safe='')}&token={token}"

    def browse(self, address: str, browser: Callable[[str], object]) -> None:
        """
        Open the page in the user's browser.

        It is given a file of this user that leads to the page: other users see with
        which arguments a program is started.
        """
        self.forget()
        link = f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n'
        write_file(self._link, link.encode())
        browser(self._link.as_uri())

    def forget(self) -> None:
        """Remove what was for the browser alone."""
        self._link.unlink(missing_ok=True)

    @property
    def _link(self) -> Path:
        return self._place.data.root / "page.html"


@define(eq=False)
class DevPage:
    """
    The page of the reference host, with the bundle that the daemon publishes.

    :ivar port: The port to serve it at; 0 for any, ``None`` for no page.
    :ivar opens: Whether to open it in the user's browser.
    """

    _page: HostPage
    port: int | None
    opens: bool
    _show: Callable[[str], None]
    _builds: Builds
    _open: Callable[[str], Any] = webbrowser.open
    _started: bool = field(default=False, init=False)

    def start(self) -> None:
        """Serve the page, or report why there is none; the reactor's end ends it."""
        if self.port is None or self._started:
            return
        try:
            # Its daemon is one with --dev, so the page may evaluate snippets.
            address = self._page.serve(self.port, True, self._builds)
        except CommandError as e:
            self._show(f"no page: {e}")
            return
        self._started = True
        self._show(f"page: {address}")
        if self.opens:
            self._page.browse(address, self._open)

    def built(self) -> None:
        """Reload the page."""
        self._builds.built()

    def stop(self) -> None:
        """Remove what was for the browser alone."""
        self._page.forget()
