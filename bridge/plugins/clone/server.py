"""The server of one repository, asked over the daemon's HTTP client."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from attrs import evolve, field

from ... import __version__
from ...classes import define
from ...http.addresspolicy import AddressPolicy, NotPublicError
from ...http.client import HttpClient
from ...http.target import CheckedRequest, read_url
from ...protocol.errors import BridgeError, Prefix
from .transfer import CloneLimits, clone_failed
from .urls import check_url

if TYPE_CHECKING:
    from ...http.exchange import Connections, Head

_SERVICE: Final = "git-upload-pack"
_ADVERTISEMENT: Final = f"application/x-{_SERVICE}-advertisement"
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_OF_NO_REPOSITORY: Final = frozenset({401, 403, 404})

# The one request a redirect may answer, and its target must be the same request.
_DISCOVERY: Final = f"/info/refs?service={_SERVICE}"

_NOT_HTTPS: Final = "redirect refused: not to an https URL"

_HEADERS: Final = (
    # Some forges distinguish git from browsers by the first word.
    ("User-Agent", f"git/plugin-bridge-{__version__}"),
    # What is counted is then what is read: there is nothing to inflate.
    ("Accept-Encoding", "identity"),
    ("Git-Protocol", "version=2"),
)
_OF_A_REQUEST: Final = ("Content-Type", f"application/x-{_SERVICE}-request")


class _Received(bytearray):
    """A body as it was received; see ``exchange.Body``."""

    add = bytearray.extend


@define(eq=False, repr=False)
class Server:
    """
    The one host a clone talks to; close it when done.

    :ivar _url: The repository's, checked.
    :ivar _policy: Which addresses may be dialled.
    :ivar _count: Counts what is received; may raise ``BridgeError``.
    """

    _url: str
    _client: HttpClient
    _policy: AddressPolicy
    _limits: CloneLimits
    _count: Callable[[int], None]
    _connections: Connections | None = field(default=None, init=False)

    async def discover(self) -> bytes:
        """
        Ask what the server offers; a redirect may lead to another path or port.

        :raise BridgeError: ``clone_failed``.
        """
        for _ in range(self._limits.redirects + 1):
            head, answer = await self._ask("GET", _DISCOVERY, b"")
            if head.status not in _REDIRECTS:
                content_type = _header(head, "content-type")
                # RFC 9110, 8.3.1: parameters may follow, and case plays no part.
                if content_type.partition(";")[0].strip().lower() != _ADVERTISEMENT:
                    raise clone_failed("not a git repository")
                return answer
            self._url = self._followed(_header(head, "location"))
            # Some servers end a connection with a redirect, and do not say so.
            await self.close()
        raise clone_failed("redirect refused: too many")

    async def upload_pack(self, body: bytes) -> bytes:
        """
        Send the service a request, and return its answer.

        :raise BridgeError: ``clone_failed``.
        """
        head, answer = await self._ask("POST", f"/{_SERVICE}", body)
        if head.status in _REDIRECTS:
            raise clone_failed("redirect refused: not to a git repository")
        return answer

    async def close(self) -> None:
        """Close its connections."""
        if self._connections is not None:
            await self._connections.close()
        self._connections = None

    async def _ask(self, method: str, path: str, body: bytes) -> tuple[Head, bytes]:
        target = read_url(self._url + path)
        headers = (*_HEADERS, *[_OF_A_REQUEST] * bool(body))
        request = CheckedRequest(target, method, headers, body, self._limits.seconds)
        try:
            if self._connections is None:
                self._connections = await self._client.connect(
                    target, self._policy, self._limits.seconds, self._count, keep=True
                )
            head, answer = await self._connections.ask(request, _received)
        except NotPublicError as e:
            failed = clone_failed("the host is not on the public internet")
            raise evolve(e, code=failed.code, message=failed.message) from None
        except BridgeError as e:
            raise _as_clone_failed(e) from None
        return head, bytes(answer)

    def _followed(self, location: str) -> str:
        try:
            target = urljoin(self._url + _DISCOVERY, location)
        except ValueError:
            raise clone_failed(_NOT_HTTPS) from None
        if not (location and target.endswith(_DISCOVERY)):
            raise clone_failed("redirect refused: not to a git repository")
        target = target.removesuffix(_DISCOVERY)
        try:
            check_url(target)
        except BridgeError:
            raise clone_failed(_NOT_HTTPS) from None
        if read_url(target).host != read_url(self._url).host:
            raise clone_failed("redirect refused: to another host")
        return target


def _received(head: Head) -> _Received:
    """Return what a body goes into, unless the response is of no use."""
    if head.status in _OF_NO_REPOSITORY:
        why = "no such repository, or a private one"
        raise clone_failed(f"the host answered HTTP status {head.status}: {why}")
    if head.status != HTTPStatus.OK and head.status not in _REDIRECTS:
        raise clone_failed(f"the host answered HTTP status {head.status}")
    if head.coding:
        raise clone_failed("the host's answer is compressed unasked")
    return _Received()


def _header(head: Head, name: str) -> str:
    return next((values[0] for one, values in head.headers if one == name), "")


def _as_clone_failed(error: BridgeError) -> BridgeError:
    if error.message.startswith(f"{Prefix.CLONE_FAILED}:"):
        return error
    return clone_failed(error.message)
