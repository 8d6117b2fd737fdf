"""
The page of the reference host, served to the browsers of this computer.

It has the bundle that the daemon publishes, and can load itself again after each build;
one that an application serves never does that, see docs/decisions/0013.
"""

from __future__ import annotations

import re
import secrets
import threading
import webbrowser
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from twisted.internet.error import CannotListenError
from twisted.python.failure import Failure
from twisted.web.pages import forbidden, notFound
from twisted.web.resource import IResource, Resource
from twisted.web.server import NOT_DONE_YET, Request, Site

from ..datadir.token import read_token
from ..provision.hostsources import check_directory_host
from ..provision.readiness import OWN_HOST
from ..settings.host import Paths
from ..settings.values import UnixAddress
from ..system.files import write_new
from ..web.guard import loopback_port
from .session import listens_on
from .terminal import CommandError, print_line

_LOOPBACK: Final = "127.0.0.1"

_OWN_SCRIPTS = b"script-src 'self'"
_OWN_SCRIPTS_AND_SNIPPETS = _OWN_SCRIPTS + b" 'unsafe-eval'"
_PAGE_POLICY = re.compile(rb"(default-src [^\"]*)\"")
# What a page may not say of itself.
_NOT_FRAMED = b"frame-ancestors 'none'"
_NOTHING = b"default-src 'none'"
_TYPES = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".map": b"application/json",
    ".json": b"application/json",
}
_PAGE = {"": "index.html", "index.html": "index.html", "page.css": "page.css"}
BUILDS_PATH: Final = "builds"
SCRIPT_FILE: Final = "reload.js"
LISTENERS: Final = 5
"""
The pages that can listen; one more takes the place of the oldest.

A browser has six connections to a host for all its tabs, of which one must stay free.
"""

_END_OF_HEAD: Final = b"</head>"


class Builds(Resource):
    """
    The builds, as an event stream for the pages that wait for the next one.

    :ivar current: The name of the newest build: no other has it, of another process
        either.
    """

    isLeaf = True
    current: str

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[Request] = []
        self.built()

    def built(self) -> None:
        """Let every page load itself again."""
        self.current = secrets.token_hex(8)
        for request in self._waiting:
            request.write(self._message())

    def render_GET(self, request: Request) -> int:
        """Send a page the newest build, and each one after it."""
        request.setHeader(b"content-type", b"text/event-stream")
        request.setHeader(b"cache-control", b"no-store")
        self._waiting.append(request)
        if len(self._waiting) > LISTENERS:
            self._waiting.pop(0).finish()
        request.notifyFinish().addBoth(self._remove, request)
        request.write(self._message())
        return NOT_DONE_YET

    def _remove(self, _: Failure | None, request: Request) -> None:
        if request in self._waiting:
            self._waiting.remove(request)

    def _message(self) -> bytes:
        return f"data: {self.current}\n\n".encode("ascii")

    def with_script(self, page: bytes) -> bytes:
        """Return a page with the script that reloads it."""
        script = f'<script src="{SCRIPT_FILE}" data-build="{self.current}"></script>'
        return page.replace(_END_OF_HEAD, script.encode("ascii") + _END_OF_HEAD, 1)


class PageFile(Resource):
    """
    One file, read again for each request: a bundle is replaced while this runs.

    twisted.web.static would do, but imports a deprecated module.
    """

    isLeaf = True

    def __init__(
        self, path: Path, snippets: bool = False, builds: Builds | None = None
    ) -> None:
        super().__init__()
        self._path = path
        self._snippets = snippets
        self._builds = builds

    def render_GET(self, request: Request) -> bytes:
        """Return the file."""
        try:
            content = self._path.read_bytes()
        except OSError:
            absent: bytes = notFound().render(request)
            return absent
        request.setHeader(b"content-type", _TYPES[self._path.suffix])
        request.setHeader(b"x-content-type-options", b"nosniff")
        # What plugins there are is for no page of another site; nor is a page that it
        # opens.
        request.setHeader(b"cross-origin-resource-policy", b"same-origin")
        request.setHeader(b"cross-origin-opener-policy", b"same-origin")
        request.setHeader(b"cache-control", b"no-cache")
        policy = _NOTHING
        if self._path.suffix == ".html":
            content = self._as_page(content)
            # The page has it as well, for when something else serves it.
            [policy] = _PAGE_POLICY.findall(content)
        policy = b"; ".join((policy, _NOT_FRAMED))
        request.setHeader(b"content-security-policy", policy)
        return content

    def _as_page(self, content: bytes) -> bytes:
        if self._builds is not None:
            content = self._builds.with_script(content)
        if self._snippets:
            content = content.replace(_OWN_SCRIPTS, _OWN_SCRIPTS_AND_SNIPPETS, 1)
        return content


class _Folder(Resource):
    """A folder of files, with a plain 404 page."""

    def getChild(self, path: bytes, request: Request) -> IResource:
        """Return the resource for a missing file."""
        return notFound()


class _Root(_Folder):
    """The root, for who calls this computer by its own names: no DNS rebinding."""

    def getChildWithDefault(self, path: bytes, request: Request) -> IResource:
        """Return the resource, or one that refuses."""
        request.responseHeaders.removeHeader(b"server")
        host = request.getHeader(b"host")
        if host is not None and loopback_port(host) is None:
            return forbidden()
        found: IResource = super().getChildWithDefault(path, request)
        return found


class BoundedRequest(Request):
    """
    A request that is cut off at its head when its body may be longer than ``most``.

    Twisted keeps each body, however long, and reads it as a form if it is called one;
    any page of any site can send such.
    """

    most = 0

    def gotLength(self, length: int | None) -> None:  # noqa: N802
        """See ``Request``; ``None`` is a body of any length."""
        super().gotLength(0)  # kept in memory, as it is short
        if length is None or length > self.most:
            transport: Any = self.channel.transport
            transport.abortConnection()


class _QuietSite(Site):
    noisy = False

    def log(self, request: Any) -> None:
        """Write no access log: the demo's terminal is for its reader."""


def page_site(
    theme: Path, bundle_name: str, snippets: bool = False, builds: Builds | None = None
) -> Site:
    """
    Return the site: ``/`` is the page, ``/theme/`` the published bundle and its map.

    :param theme: The theme's own folder, which need not exist yet.
    :param snippets: Whether the page may evaluate what a daemon with ``--dev`` pushes;
        see docs/decisions/0028.
    :param builds: After each of them the page loads itself again.
    """
    root = _Root()
    page = Path(str(files("bridge").joinpath("reference", "page")))
    for name, file in _PAGE.items():
        root.putChild(name.encode("ascii"), PageFile(page / file, snippets, builds))
    if builds is not None:
        root.putChild(BUILDS_PATH.encode("ascii"), builds)
        root.putChild(SCRIPT_FILE.encode("ascii"), PageFile(page / SCRIPT_FILE))
    published = _Folder()
    for name in (f"{bundle_name}.js", f"{bundle_name}.js.map"):
        published.putChild(name.encode("ascii"), PageFile(theme / name))
    root.putChild(b"theme", published)
    return _QuietSite(root, requestFactory=BoundedRequest)


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
    forget = place.data.page.unlink
    reactor.addSystemEventTrigger("after", "shutdown", forget, missing_ok=True)
    link = f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n'
    write_new(place.data.page, [link.encode()])
    # Some browsers are waited for; not by what has ended meanwhile.
    given = (place.data.page.as_uri(),)
    print_line("If your browser shows no page, open that address in it yourself.")
    threading.Thread(target=webbrowser.open, args=given, daemon=True).start()
