"""
The HTTPS side of a clone: one server, asked over connections of our own making.

Nothing is taken from the environment: no proxy, no credentials, no CA path, no key
log.  The address that was judged is the address that is dialled, while the name
decides the certificate.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import sys
from collections.abc import Callable, Mapping
from http import client
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urljoin, urlsplit

from attrs import define, field, frozen

from .. import __version__
from ..addresses import is_near_name, is_own, is_public
from ..protocol.errors import BridgeError
from ..protocol.limits import CLONE_CONNECT_SECONDS
from .resolve import Endpoint, LookUp, resolve
from .transfer import Transfer, clone_failed
from .urls import check_url

HTTPS_PORT: Final = 443
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_READ_BYTES: Final = 64 * 1024

# The one request a redirect may answer, and its target must be the same request.
DISCOVERY: Final = "/info/refs?service=git-upload-pack"

_HEADERS: Final = {
    # Some forges tell git from browsers by how this starts.
    "User-Agent": f"git/plugin-bridge-{__version__}",
    # What is counted is then what is read: there is nothing to inflate.
    "Accept-Encoding": "identity",
}


def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """
    Trust the system's certificate authorities, and those of ``ca_file``.

    :raise BridgeError: ``ca_file`` cannot be read or holds no certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if sys.platform == "win32":
        context.load_default_certs()
    else:
        # The compiled-in places, not those that SSL_CERT_FILE would name.
        places = ssl.get_default_verify_paths()
        for kind, place in (
            ("cafile", Path(places.openssl_cafile)),
            ("capath", Path(places.openssl_capath)),
        ):
            if place.exists():
                context.load_verify_locations(**{kind: str(place)})
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=str(ca_file))
        except (OSError, ssl.SSLError):
            raise clone_failed("the CA file cannot be used") from None
    return context


class CountedSocket(ssl.SSLSocket):
    """A TLS socket that counts what is read from it, headers and all."""

    transfer: Transfer

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        """See ``socket.recv_into``."""
        count = super().recv_into(*args, **kwargs)
        self.transfer.received(count)
        return count


@frozen
class Dialler:
    """
    Makes connections to checked addresses.

    :ivar public_only: Refuse a host any of whose addresses is not public.
    """

    transfer: Transfer
    context: ssl.SSLContext
    public_only: bool
    look_up: LookUp

    def dial(self, host: str, port: int) -> CountedSocket:
        """
        Connect and shake hands.

        :param host: The name the certificate must be for.
        :raise BridgeError: No address may be, or could be, connected to; or the
            server's certificate is not trusted.
        """
        if self.public_only and is_near_name(host):
            raise _not_public()
        endpoints = resolve(host, port, self.look_up, self.transfer.check)
        if self.public_only and not all(map(_is_far, endpoints)):
            raise _not_public()
        return self._secured(self._connected(endpoints), host)

    def _connected(self, endpoints: list[Endpoint]) -> socket.socket:
        for endpoint in endpoints:
            with contextlib.suppress(OSError):
                return self._connect(endpoint)
            self.transfer.check()
        raise clone_failed("could not connect to the host")

    def _connect(self, endpoint: Endpoint) -> socket.socket:
        connection = socket.socket(endpoint.family, socket.SOCK_STREAM)
        try:
            self.transfer.hold(connection)
            connection.settimeout(CLONE_CONNECT_SECONDS)
            connection.connect(endpoint.address)
            connection.settimeout(self.transfer.limits.seconds)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException:
            connection.close()
            raise
        return connection

    def _secured(self, connection: socket.socket, host: str) -> CountedSocket:
        try:
            secured = self.context.wrap_socket(
                connection, server_hostname=host.removesuffix(".")
            )
        except ssl.SSLCertVerificationError:
            raise clone_failed("the host's TLS certificate is not trusted") from None
        except (OSError, ValueError):
            self.transfer.check()
            raise clone_failed("no TLS connection with the host") from None
        finally:
            connection.close()
        counted = cast("CountedSocket", secured)
        counted.transfer = self.transfer
        return counted


def _not_public() -> BridgeError:
    return clone_failed("the host is not on the public internet")


def _is_far(endpoint: Endpoint) -> bool:
    return is_public(endpoint.host) and not is_own(endpoint.host)


class Connection(client.HTTPSConnection):
    """An HTTP connection that is dialled by a ``Dialler``."""

    def __init__(self, host: str, port: int, dialler: Dialler) -> None:
        super().__init__(host, port, context=dialler.context)
        self._dialler = dialler

    def connect(self) -> None:
        """See ``HTTPConnection.connect``."""
        self.sock = self._dialler.dial(self.host, self.port)


@define
class Answer:
    """
    A successful answer.

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
    _dial: Callable[[str, int], Connection]
    _redirects_left: int
    _connection: Connection | None = field(default=None, init=False)
    _response: client.HTTPResponse | None = field(default=None, init=False)

    def request(
        self, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        """
        Ask for ``url``: GET, or POST when there is a body.

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
            raise clone_failed(_status_words(response.status))
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise clone_failed("the host's answer is compressed unasked")
        content_type = response.headers.get("Content-Type", "")
        moved = "" if target == url else target
        return Answer(response, content_type, moved)

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

    def _ready(self, port: int) -> Connection:
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
        if body is not None or not target.endswith(DISCOVERY):
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


def _status_words(status: int) -> str:
    words = f"the host answered HTTP status {status}"
    if status in (client.UNAUTHORIZED, client.FORBIDDEN, client.NOT_FOUND):
        return f"{words}: no such repository, or a private one"
    return words


def open_server(
    url: str,
    transfer: Transfer,
    *,
    ca_file: Path | None,
    public_only: bool,
    look_up: LookUp,
) -> Server:
    """
    Get ready to ask the host of ``url``; nothing is sent yet.

    :raise BridgeError: ``ca_file`` cannot be used.
    """
    context = tls_context(ca_file)
    context.sslsocket_class = CountedSocket
    dialler = Dialler(transfer, context, public_only, look_up)
    return Server(
        urlsplit(url).hostname or "",
        lambda host, port: Connection(host, port, dialler),
        transfer.limits.redirects,
    )
