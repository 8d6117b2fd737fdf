"""The page that ``plugin-bridge dev`` serves, and reloads after each build."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from typing import Any

from attrs import field

from ...classes import define
from ...demo.page import Builds
from ..hostpage import HostPage
from ..terminal import CommandError


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
