"""The page that ``plugin-bridge dev`` serves, and reloads after each build."""

from __future__ import annotations

import shlex
import webbrowser
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import quote

from attrs import define, field
from twisted.internet.error import CannotListenError

from ...demo.page import page_site
from ...demo.reloading import Builds
from ...provision.readiness import OWN_HOST
from ...settings.options import Paths
from ...settings.values import UnixAddress
from ..asking.client import listens_on
from ..terminal import CommandError

_LOOPBACK: Final = "127.0.0.1"


@define(eq=False)
class DevPage:
    """
    The page of the reference host, with the bundle that the daemon publishes.

    :ivar port: The port to serve it at; 0 for any, ``None`` for no page.
    :ivar opens: Whether to open it in the user's browser.
    """

    _reactor: Any
    _place: Paths
    _naming: Sequence[str]
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
            address = self._serve(self.port)
        except CommandError as e:
            self._show(f"no page: {e}")
            return
        self._started = True
        token = shlex.join(["plugin-bridge", "run", "--print-token", *self._naming])
        self._show(f"page: {address}")
        self._show(f"to pair it, paste what this prints: {token}")
        if self.opens:
            self._open(address)

    def built(self) -> None:
        """Reload the page."""
        self._builds.built()

    def _serve(self, port: int) -> str:
        """
        Listen, and return the page's address.

        :raise CommandError: There can be no page.
        """
        profile = self._place.profile
        if profile.name != OWN_HOST:
            raise CommandError(
                f"{profile.application} has its own; plugin-bridge has only the page "
                f"of the host {OWN_HOST}"
            )
        endpoint = self._endpoint()
        theme = self._place.theme_dir / profile.theme_name
        # Its daemon is one with --dev, so the page may evaluate snippets.
        site = page_site(theme, profile.bundle_name, True, self._builds)
        try:
            listening = self._reactor.listenTCP(port, site, interface=_LOOPBACK)
        except CannotListenError:
            raise CommandError(f"port {port} cannot be used") from None
        where = f"http://{_LOOPBACK}:{listening.getHost().port}/"
        return f"{where}#endpoint={quote(endpoint, safe='')}"

    def _endpoint(self) -> str:
        """
        Return the daemon's address, as the page's own address holds it.

        :raise CommandError: The page could not connect to it.
        """
        try:
            address = listens_on(self._place.data)
        except (OSError, ValueError):
            raise CommandError("the daemon's address cannot be read") from None
        if isinstance(address, UnixAddress) or address.host != _LOOPBACK:
            raise CommandError(
                f"it connects only to {_LOOPBACK}, and the daemon listens on {address}"
            )
        return f"http://{address}"
