"""The ``outbound`` service: one HTTP request, made by the daemon for the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar, Final

from attrs import field
from orjson import Fragment
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from .. import __version__
from ..classes import define, frozen
from ..concurrency.shares import Holder, Shares
from ..concurrency.threads import InThread
from ..http.bodytext import INFLATED, CompressedBody, PlainBody, too_large
from ..http.client import HttpClient
from ..http.exchange import Head
from ..http.target import AddressPolicy, CheckedRequest, Target, read_url
from ..protocol import limits
from ..protocol.errors import BridgeError, bad_request, unavailable
from ..protocol.wire import AnyParams
from ..rpc import Caller, method

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

# Headers about the connection, and about proxies: they are the daemon's own.
_REFUSED: Final = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_REFUSED_PREFIX: Final = "proxy-"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_VALUE = re.compile(r"[\x20-\x7e\x80-\xff]*")
_DEFAULTS: Final = {
    "accept": "*/*",
    "accept-encoding": "gzip, deflate",
    "user-agent": f"plugin-bridge/{__version__}",
}
# Put together within a millisecond: to have a thread do it takes longer.
_SHORT_BYTES: Final = limits.MIB

_READS: Final = frozenset({"GET", "HEAD"})
_LATE: Final = "no whole response within timeoutMs"
_MOST_SECONDS = limits.OUTBOUND_MOST_MILLISECONDS / 1000 + limits.CALL_SECONDS
_SET_COOKIE = "set-cookie"


@frozen(eq=False, repr=False)
class FetchParams(AnyParams):
    """
    The request to make.

    :ivar url: An absolute URL of http or https, without user name and password.
    :ivar method: GET, HEAD, POST, PUT, PATCH or DELETE, in any case.
    :ivar headers: Values by name, at most 32; not those of the connection.
    :ivar body: Text, at most 1 MiB in UTF-8; empty for none.
    :ivar timeout_ms: For the whole exchange; 30000 by default, and brought into
        1 to 120000.
    """

    url: str
    method: str = "GET"
    headers: dict[str, str] = field(factory=dict)
    body: str = ""
    timeout_ms: int | None = None


@frozen(eq=False, repr=False)
class FetchResult:
    """
    The response, whatever its status: redirects are not followed.

    :ivar status: The status code.
    :ivar status_text: The standard's words for it, or empty.
    :ivar ok: Whether the status is 200 to 299.
    :ivar url: The URL as it was given.
    :ivar headers: Values by name in lower case; repeated ones joined by a comma and
        a space.
    :ivar set_cookie: The values of ``set-cookie``, which can't be joined.
    :ivar body: Text; the response was valid UTF-8, at most 16 MiB.
    """

    status: int
    status_text: str
    ok: bool
    url: str
    headers: dict[str, str]
    set_cookie: list[str]
    body: Fragment


def make_request(target: Target, params: FetchParams) -> CheckedRequest:
    """
    Check everything except the target, in the order in which refusals are reported.

    :raise BridgeError: ``bad_request``, naming the field and the rule.
    """
    method, headers = params.method.upper(), params.headers
    if method not in METHODS:
        raise _refused("method", f"must be one of {', '.join(METHODS)}")
    content = params.body.encode("utf-8")
    if len(content) > limits.OUTBOUND_REQUEST_BYTES:
        raise _refused(
            "body", f"at most {limits.OUTBOUND_REQUEST_BYTES} bytes in UTF-8"
        )
    _check_headers(headers)
    given = {name.lower() for name in headers}
    sent = [*headers.items(), *((n, v) for n, v in _DEFAULTS.items() if n not in given)]
    return CheckedRequest(target, method, tuple(sent), content)


def seconds_of(params: FetchParams) -> float:
    """Return how long a whole fetch may take."""
    milliseconds = params.timeout_ms
    if milliseconds is None:
        milliseconds = limits.OUTBOUND_DEFAULT_MILLISECONDS
    return min(max(milliseconds, 1), limits.OUTBOUND_MOST_MILLISECONDS) / 1000


def _check_headers(headers: Mapping[str, str]) -> None:
    if len(headers) > limits.OUTBOUND_REQUEST_HEADERS:
        raise _refused("headers", f"at most {limits.OUTBOUND_REQUEST_HEADERS}")
    size = sum(len(name) + len(value) for name, value in headers.items())
    if size > limits.OUTBOUND_REQUEST_HEADERS_BYTES:
        most = limits.OUTBOUND_REQUEST_HEADERS_BYTES
        raise _refused("headers", f"at most {most} bytes in all")
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            raise _refused("headers", "a name is not a token of HTTP")
        lower = name.lower()
        if lower in _REFUSED or lower.startswith(_REFUSED_PREFIX):
            raise _refused("headers", "headers of the connection cannot be set")
        if not _VALUE.fullmatch(value):
            raise _refused("headers", "a value has characters that cannot be sent")


def _refused(name: str, rule: str) -> BridgeError:
    return bad_request(f"{name}: {rule}")


@define(eq=False, repr=False)
class Outbound:
    """
    Calls public HTTP APIs, including those that allow no cross-origin requests.

    A limited number at once; the others wait, within their time.

    :ivar policy: Which addresses they may reach.
    :ivar clock: Measures their time.
    :ivar in_thread: Calls in a thread.
    """

    _policy: AddressPolicy
    _clock: IReactorTime
    _in_thread: InThread
    _client: HttpClient
    _shares: Shares = field(init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self._shares = Shares(
            "fetches",
            limits.OUTBOUND_AT_ONCE,
            limits.OUTBOUND_WAITING,
            limits.OUTBOUND_WAITING_PER_CALLER,
        )

    def describe(self) -> dict[str, Any]:
        """Return what can be requested, and the limits."""
        return {
            "requestMethods": list(METHODS),
            "maxRequestBytes": limits.OUTBOUND_REQUEST_BYTES,
            "maxResponseBytes": limits.OUTBOUND_RESPONSE_BYTES,
            "maxHeaders": limits.OUTBOUND_REQUEST_HEADERS,
            "defaultTimeoutMs": limits.OUTBOUND_DEFAULT_MILLISECONDS,
            "maxTimeoutMs": limits.OUTBOUND_MOST_MILLISECONDS,
            "bodies": "text",
            "redirects": "not followed; the page decides",
            "reach": "public addresses only; cross-origin rules do not apply",
        }

    @method(FetchParams, FetchResult, seconds=_MOST_SECONDS)
    async def fetch(self, params: FetchParams, caller: Caller) -> FetchResult:
        """
        Make one HTTP request.

        :raise BridgeError: ``bad_request`` for a URL, method, header or body that
            breaks a rule, an address that is not public, and a response that is too
            large or not UTF-8; ``unavailable`` when no response came: unknown host,
            no connection, TLS, the timeout, or too many waiting fetches.
        """
        target = read_url(params.url)
        self._policy.check_target(target)
        request = make_request(target, params)
        head, text = await self._in_turn(request, seconds_of(params), caller)
        apart = {_SET_COOKIE}
        if head.coding in INFLATED:
            # These describe the bytes received, not the text that is passed on.
            apart |= {"content-encoding", "content-length"}
        headers = {n: ", ".join(v) for n, v in head.headers.items() if n not in apart}
        return FetchResult(
            status=head.status,
            status_text=_phrase(head.status),
            ok=HTTPStatus.OK <= head.status < HTTPStatus.MULTIPLE_CHOICES,
            url=params.url,
            headers=headers,
            set_cookie=head.headers.get(_SET_COOKIE, []),
            body=text,
        )

    def close(self) -> Deferred[None]:
        """End every fetch, and accept no more."""
        return self._shares.close()

    async def _in_turn(
        self, request: CheckedRequest, seconds: float, caller: Holder | None
    ) -> tuple[Head, Fragment]:
        """
        Make one fetch, when it is its turn.

        It ends with its caller while it waits for its turn, and when it only reads; see
        ``Shares.leave`` for what changes something.  A response is held back, within
        the time of the fetch, while its caller has yet to read what it was sent before.

        :return: What a server answered, its body as a JSON string that is written
            already.
        """
        place = self._shares.place(caller, reads=request.method in _READS)

        def late() -> None:
            # One of its own: the tracebacks of an error keep what they lead through.
            place.stop(unavailable(_LATE))

        deadline = self._clock.callLater(seconds, late)
        try:
            async with place:
                fetching = Deferred.fromCoroutine(self._fetch(request))
                place.end = fetching.cancel
                fetched = await fetching
                await place.drained()
                return fetched
        finally:
            if deadline.active():
                deadline.cancel()

    async def _fetch(self, request: CheckedRequest) -> tuple[Head, Fragment]:
        connections = await self._client.connect(
            request.target, self._policy, _ReceivedBytes().add
        )
        try:
            head, body = await connections.ask(request, _body)
        finally:
            await connections.close()
        # A host and a status are ours to log: both were checked.
        self._log.debug(
            "fetched from {host}: status {status}",
            host=request.target.host,
            status=head.status,
        )
        try:
            text = await self._text(body)
        finally:
            # The frames of a traceback keep it until garbage is collected.
            body.clear()
        return head, text

    async def _text(self, body: PlainBody | CompressedBody) -> Fragment:
        if isinstance(body, PlainBody) and body.size <= _SHORT_BYTES:
            return body.whole()
        text: Fragment = await self._in_thread(body.whole)
        return text


@define
class _ReceivedBytes:
    """Counts what is received for one fetch."""

    _so_far: int = 0

    def add(self, count: int) -> None:
        self._so_far += count
        if self._so_far > limits.OUTBOUND_RECEIVED_BYTES:
            raise unavailable("the server's answer: too many bytes were received")


def _body(head: Head) -> PlainBody | CompressedBody:
    """Return what a body goes into, unless it is too large."""
    if head.length is not None and head.length > limits.OUTBOUND_RESPONSE_BYTES:
        raise too_large()
    return CompressedBody(head.coding) if head.coding else PlainBody()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
