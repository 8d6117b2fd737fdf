"""The page of the reference host, served to the browsers of this computer."""

from __future__ import annotations

import threading
import webbrowser
from html import escape
from typing import Any, Final
from urllib.parse import quote

from twisted.internet.error import CannotListenError

from ..datadir.token import read_token
from ..demo.page import Builds, page_site
from ..provision.hostsources import check_directory_host
from ..provision.readiness import OWN_HOST
from ..settings.options import Paths
from ..settings.values import UnixAddress
from ..system.files import write_new
from .session import listens_on
from .terminal import CommandError, print_line

_LOOPBACK: Final = "127.0.0.1"


def check_own_host(place: Paths) -> None:
    """
    Check that this host's page ships with us, and that the directory is this host's.

    :raise UserError: It is not.
    """
    check_directory_host(place)
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


def serve_page(
    reactor: Any,
    place: Paths,
    port: int,
    snippets: bool = False,
    builds: Builds | None = None,
) -> str:
    """
    Serve the page, with the bundle that the daemon publishes, until the reactor ends.

    :param port: 0 for a free one.
    :param snippets: See ``page_site``; so is ``builds``.
    :return: The address of the page, which pairs it.
    :raise UserError: There can be no page.
    :raise FileNotFoundError: There is no token.
    """
    check_own_host(place)
    endpoint = page_endpoint(place)
    token = read_token(place.data.token)
    site = page_site(place.bundle.parent, place.profile.bundle_name, snippets, builds)
    try:
        listening = reactor.listenTCP(port, site, interface=_LOOPBACK)
    except CannotListenError:
        raise CommandError(
            f"port {port} cannot be used; end the open that has it, if one runs, "
            "or choose another port with --page-port"
        ) from None
    # What follows the # is not sent to any server.
    where = f"http://{_LOOPBACK}:{listening.getHost().port}/"
    return f"{where}#endpoint={quote(endpoint, safe='')}&token={token}"


def browse(reactor: Any, place: Paths, address: str) -> None:
    """
    Open the page in the user's browser.

    It is given a file of this user that leads to the page: other users see with
    which arguments a program is started.  The reactor's shutdown removes it.
    """

    def forget() -> None:
        place.data.page.unlink(missing_ok=True)

    reactor.addSystemEventTrigger("after", "shutdown", forget)
    link = f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n'
    write_new(place.data.page, [link.encode()])
    # Some browsers are waited for; not by what has ended meanwhile.
    given = (place.data.page.as_uri(),)
    print_line("If your browser shows no page, open that address in it yourself.")
    threading.Thread(target=webbrowser.open, args=given, daemon=True).start()
