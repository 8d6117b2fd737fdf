"""
The server of one repository: which URLs it may have, and what is asked of it.

It is asked over the daemon's HTTP client.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urljoin

from attrs import evolve, field

from ... import __version__
from ...classes import define, frozen
from ...http.client import HttpClient
from ...http.target import AddressPolicy, CheckedRequest, NotPublicError, read_url
from ...protocol.errors import BridgeError, Prefix, plugin_error
from ...protocol.limits import CLONE_REDIRECTS, PROGRESS_PER_SECOND, URL_CHARACTERS
from .bounds import clone_failed

if TYPE_CHECKING:
    from ...http.exchange import Connections, Head

# RFC 3986's characters, without the number sign that starts a fragment.
_ALLOWED = re.compile(r"[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=%-]*", re.ASCII)


def check_url(url: str) -> str:
    """
    Check the URL of a plugin's repository.

    :return: The URL as it was given.
    :raise BridgeError: ``not_https: …``, naming the rule that is broken.
    """
    rule = _broken_rule(url)
    if rule is not None:
        raise plugin_error(Prefix.NOT_HTTPS, f"url: {rule}")
    return url


def _broken_rule(url: str) -> str | None:
    if not url.startswith("https://"):
        return "must start with https://"
    if len(url) > URL_CHARACTERS:
        return f"at most {URL_CHARACTERS} characters"
    if "#" in url:
        return "no fragment"
    if "?" in url:
        return "no query"
    if _ALLOWED.fullmatch(url) is None:
        return "only the characters of a URL, without spaces or control characters"
    try:
        target = read_url(url)
    except BridgeError as e:
        return e.message.removeprefix("url: ")
    if any(unquote(part) in (".", "..") for part in target.path.split("/")):
        # Git clients leave them out: the prompt would show another repository.
        return "no . or .. between the slashes of its path"
    return None


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


@frozen
class FetchLimits:
    """
    How much a server may send, and how long that may take.

    :ivar objects: How many there may be in a pack.
    """

    seconds: float
    received_bytes: int
    objects: int


class _Received(bytearray):
    """A body as it was received; see ``exchange.Body``."""

    add = bytearray.extend


@define(eq=False, repr=False)
class Server:
    """
    The one host a clone talks to; close it when done.

    :ivar _url: The repository's, checked.
    :ivar _policy: Which addresses may be dialled.
    :ivar _now: A monotonic clock, in seconds.
    :ivar _progress: Called with the bytes received so far, a few times a second.
    """

    _url: str
    _client: HttpClient
    _policy: AddressPolicy
    _limits: FetchLimits
    _now: Callable[[], float]
    _progress: Callable[[int], None]
    _connections: Connections | None = field(default=None, init=False)
    _bytes: int = field(default=0, init=False)
    _report_from: float = field(default=float("-inf"), init=False)

    async def discover(self) -> bytes:
        """
        Ask what the server offers; a redirect may lead to another path or port.

        :raise BridgeError: ``clone_failed``.
        """
        for _ in range(CLONE_REDIRECTS + 1):
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

    def received(self, count: int) -> None:
        """
        Count bytes that came from the network.

        :raise BridgeError: They are too many.
        """
        self._bytes += count
        if self._bytes > self._limits.received_bytes:
            raise clone_failed(
                f"more than {self._limits.received_bytes} bytes received"
            )
        now = self._now()
        if now >= self._report_from:
            self._report_from = now + 1 / PROGRESS_PER_SECOND
            self._progress(self._bytes)

    async def _ask(self, method: str, path: str, body: bytes) -> tuple[Head, bytes]:
        target = read_url(self._url + path)
        headers = (*_HEADERS, *[_OF_A_REQUEST] * bool(body))
        request = CheckedRequest(target, method, headers, body, self._limits.seconds)
        try:
            if self._connections is None:
                self._connections = await self._client.connect(
                    target, self._policy, self._limits.seconds, self.received, keep=True
                )
            head, answer = await self._connections.ask(request, _received)
        except NotPublicError as e:
            failed = clone_failed("the host is not on the public internet")
            raise evolve(e, code=failed.code, message=failed.message) from None
        except BridgeError as e:
            is_named = e.message.startswith(f"{Prefix.CLONE_FAILED}:")
            raise e if is_named else clone_failed(e.message) from None
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
