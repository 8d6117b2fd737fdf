"""The HTTPS side of a clone: one server, asked over one connection after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import client
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

from attrs import define, field

from ... import __version__
from ...net.certificates import CaFileError, tls_context
from ...protocol.errors import BridgeError
from .dial import CountedSocket, Dialler
from .resolve import LookUp
from .transfer import Transfer, clone_failed
from .urls import check_url

HTTPS_PORT: Final = 443
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_READ_BYTES: Final = 64 * 1024

# The one request a redirect may answer, and its target must be the same request.
DISCOVERY: Final = "/info/refs?service=git-upload-pack"

_HEADERS: Final = {
    # Some forges distinguish git from browsers by the first word.
    "User-Agent": f"git/plugin-bridge-{__version__}",
    # What is counted is then what is read: there is nothing to inflate.
    "Accept-Encoding": "identity",
}


class DialledConnection(client.HTTPSConnection):
    """An HTTPS connection made by a ``Dialler``."""

    def __init__(self, host: str, port: int, dialler: Dialler) -> None:
        super().__init__(host, port, context=dialler.context)
        self._dialler = dialler

    def connect(self) -> None:
        """See ``HTTPConnection.connect``."""
        self.sock = self._dialler.dial(self.host, self.port)


@define
class GitResponse:
    """
    A successful response.

    :ivar content_type: The media type in lower case, without parameters; empty when
        there is none.
    :ivar redirect_location: The URL it came from in the end, empty when that is
        the one that was asked for.
    """

    _response: client.HTTPResponse
    content_type: str
    redirect_location: str

    def read(self, size: int = _READ_BYTES) -> bytes:
        """At most ``size`` bytes of the body; none at its end."""
        return self._response.read(size)

    def close(self) -> None:
        """Leave the rest unread; the ``Server`` closes what it opened."""


@define
class Server:
    """The one host a clone talks to; close it when done."""

    _host: str
    _dial: Callable[[str, int], DialledConnection]
    _redirects_left: int
    _connection: DialledConnection | None = field(default=None, init=False)
    _response: client.HTTPResponse | None = field(default=None, init=False)

    def request(
        self, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> GitResponse:
        """
        Request ``url``: GET, or POST with a body.

        :raise BridgeError: It is on another host, the redirect is one that is not
            followed, or the status is not 200.
        """
        target = url
        while True:
            response = self._send(target, headers, body)
            if response.status not in _REDIRECTS:
                break
            location = response.headers.get("Location", "")
            self.close()
            target = self._followed(target, location, body)
        if response.status != client.OK:
            raise clone_failed(_status_text(response.status))
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise clone_failed("the host's answer is compressed unasked")
        content_type = response.headers.get("Content-Type", "")
        # RFC 9110, 8.3.1: parameters may follow, and case plays no part.
        media_type = content_type.partition(";")[0].strip().lower()
        moved = "" if target == url else target
        return GitResponse(response, media_type, moved)

    def close(self) -> None:
        """Drop the connection."""
        # A response may outlive its connection, and then holds the socket.
        for held in (self._response, self._connection):
            if held is not None:
                held.close()
        self._response = self._connection = None

    def _send(
        self, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> client.HTTPResponse:
        parts = urlsplit(url)
        if parts.scheme != "https" or parts.hostname != self._host:
            raise clone_failed("an answer names another host")
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        connection = self._ready(parts.port or HTTPS_PORT)
        method = "GET" if body is None else "POST"
        connection.request(method, path, body, {**headers, **_HEADERS})
        self._response = connection.getresponse()
        return self._response

    def _ready(self, port: int) -> DialledConnection:
        connection, response = self._connection, self._response
        if connection is not None and response is not None:
            # The end of a body has to be read before the next answer can be.
            read_whole = response.isclosed() or not response.read(1)
            if read_whole and connection.port == port:
                return connection
        self.close()
        self._connection = self._dial(self._host, port)
        return self._connection

    def _followed(self, url: str, location: str, body: bytes | None) -> str:
        target = urljoin(url, location)
        to_git = location and target.endswith(DISCOVERY)
        if body is not None or not to_git:
            raise clone_failed("redirect refused: not to a git repository")
        try:
            check_url(target.removesuffix(DISCOVERY))
        except BridgeError:
            raise clone_failed("redirect refused: not to an https URL") from None
        if urlsplit(target).hostname != self._host:
            raise clone_failed("redirect refused: to another host")
        if self._redirects_left == 0:
            raise clone_failed("redirect refused: too many")
        self._redirects_left -= 1
        return target


def _status_text(status: int) -> str:
    text = f"the host answered HTTP status {status}"
    if status in (client.UNAUTHORIZED, client.FORBIDDEN, client.NOT_FOUND):
        return f"{text}: no such repository, or a private one"
    return text


def open_server(
    url: str,
    transfer: Transfer,
    *,
    ca_file: Path | None,
    public_only: bool,
    look_up: LookUp,
    allowed: frozenset[str] = frozenset(),
) -> Server:
    """
    Get ready to ask the host of ``url``; nothing is sent yet.

    :param allowed: See ``Dialler``.
    :raise BridgeError: ``ca_file`` cannot be used.
    """
    try:
        context = tls_context(ca_file)
    except CaFileError:
        raise clone_failed("the CA file cannot be used") from None
    context.sslsocket_class = CountedSocket
    dialler = Dialler(transfer, context, public_only, look_up, allowed)
    return Server(
        urlsplit(url).hostname or "",
        lambda host, port: DialledConnection(host, port, dialler),
        transfer.limits.redirects,
    )
