"""The page of the reference host, served to the browsers of this computer."""

from __future__ import annotations

import webbrowser
from html import escape
from typing import Any, Final
from urllib.parse import quote

from twisted.internet.error import CannotListenError

from ..classes import define
from ..datadir.ownership import write_file
from ..datadir.token import TokenError, read_token
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
            f"{place.profile.application} shows its page itself; plugin-bridge shows "
            f"that of --host {OWN_HOST}"
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
            f"the daemon listens on {address}, and the page connects to {_LOOPBACK} "
            "only"
        )
    return f"http://{address}"


@define(eq=False)
class HostPage:
    """
    The page, with the bundle that the daemon publishes, until the reactor ends.

    :ivar snippets: See ``page_site``; so is ``builds``.
    """

    _reactor: Any
    _place: Paths
    _snippets: bool = False
    _builds: Builds | None = None

    def serve(self, port: int) -> str:
        """
        Listen, and return the address of the page, which pairs it.

        :param port: 0 for a free one.
        :raise CommandError: There can be no page.
        """
        check_own_host(self._place)
        endpoint = page_endpoint(self._place)
        try:
            token = read_token(self._place.data.token)
        except (OSError, TokenError):
            raise CommandError("the daemon's token cannot be read") from None
        bundle, name = self._place.bundle, self._place.profile.bundle_name
        site = page_site(bundle.parent, name, self._snippets, self._builds)
        try:
            listening = self._reactor.listenTCP(port, site, interface=_LOOPBACK)
        except CannotListenError:
            raise CommandError(
                f"port {port} cannot be used; end the open that has it, if one runs, "
                "or choose another port with --page-port"
            ) from None
        # What follows the # is not sent to any server.
        where = f"http://{_LOOPBACK}:{listening.getHost().port}/"
        return f"{where}#endpoint={quote(endpoint, safe='')}&token={token}"

    def browse(self, address: str) -> None:
        """
        Open the page in the user's browser.

        It is given a file of this user that leads to the page: other users see with
        which arguments a program is started.  The reactor's shutdown removes it.
        """
        self._forget()
        self._reactor.addSystemEventTrigger("after", "shutdown", self._forget)
        link = f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n'
        write_file(self._place.data.page, link.encode())
        # Some browsers are waited for, and what they ask for is served meanwhile.
        self._reactor.callInThread(webbrowser.open, self._place.data.page.as_uri())

    def _forget(self) -> None:
        self._place.data.page.unlink(missing_ok=True)
