"""
A whole fetch, within its time: what a request may be, and how it is made.

It is checked, resolved, dialled, received and read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from attrs import evolve, field
from orjson import Fragment
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from .. import __version__
from ..classes import define
from ..concurrency.shares import Holder, Shares
from ..http.client import HttpClient
from ..http.exchange import Head
from ..http.target import AddressPolicy, CheckedRequest, Target
from ..protocol import limits
from ..protocol.errors import BridgeError, bad_request, unavailable
from .bodytext import INFLATED, CompressedBody, PlainBody, too_large

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


def make_request(
    target: Target,
    method: str,
    headers: Mapping[str, str],
    body: str,
    milliseconds: int | None,
) -> CheckedRequest:
    """
    Check everything except the target, in the order in which refusals are reported.

    :raise BridgeError: ``bad_request``, naming the field and the rule.
    """
    method = method.upper()
    if method not in METHODS:
        raise _refused("method", f"must be one of {', '.join(METHODS)}")
    content = body.encode("utf-8")
    if len(content) > limits.OUTBOUND_REQUEST_BYTES:
        raise _refused(
            "body", f"at most {limits.OUTBOUND_REQUEST_BYTES} bytes in UTF-8"
        )
    _check_headers(headers)
    given = {name.lower() for name in headers}
    sent = [*headers.items(), *((n, v) for n, v in _DEFAULTS.items() if n not in given)]
    if milliseconds is None:
        milliseconds = limits.OUTBOUND_DEFAULT_MILLISECONDS
    seconds = min(max(milliseconds, 1), limits.OUTBOUND_MOST_MILLISECONDS) / 1000
    return CheckedRequest(target, method, tuple(sent), content, seconds)


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


# Put together within a millisecond: to have a thread do it takes longer.
_SHORT_BYTES: Final = limits.MIB

_READS: Final = frozenset({"GET", "HEAD"})
_LATE: Final = "no whole response within timeoutMs"


@define(eq=False, repr=False)
class HttpFetcher:
    """
    Makes fetches, a limited number at once; the others wait, within their time.

    :ivar policy: Which addresses they may reach.
    :ivar clock: Measures their time.
    :ivar call: Calls in a thread.
    """

    policy: AddressPolicy
    _clock: IReactorTime
    _call: Callable[..., Deferred[Any]]
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

    async def fetch(
        self, request: CheckedRequest, caller: Holder | None
    ) -> tuple[Head, Fragment]:
        """
        Make one fetch.

        It ends with its caller while it waits for its turn, and when it only reads; see
        ``Shares.leave`` for what changes something.  A response is held back, within
        the time of the fetch, while its caller has yet to read what it was sent before.

        :param request: Its target was checked.
        :return: What a server answered, its body as a JSON string that is written
            already.
        :raise BridgeError: ``bad_request``: the target's addresses are not public, or
            the response is too large or not text; ``unavailable``: too many fetches
            wait already, or no response was received in time.
        """
        place = self._shares.place(caller, reads=request.method in _READS)

        def late() -> None:
            # One of its own: the tracebacks of an error keep what they lead through.
            place.stop(unavailable(_LATE))

        deadline = self._clock.callLater(request.seconds, late)
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

    def close(self) -> Deferred[None]:
        """End every fetch, and accept no more."""
        return self._shares.close()

    async def _fetch(self, request: CheckedRequest) -> tuple[Head, Fragment]:
        connections = await self._client.connect(
            request.target, self.policy, request.seconds, _ReceivedBytes().add
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
        if head.coding in INFLATED:
            # These describe the bytes received, not the text that is passed on.
            gone = ("content-encoding", "content-length")
            kept = [header for header in head.headers if header[0] not in gone]
            head = evolve(head, headers=kept)
        return head, text

    async def _text(self, body: PlainBody | CompressedBody) -> Fragment:
        if isinstance(body, PlainBody) and body.size <= _SHORT_BYTES:
            return body.whole()
        text: Fragment = await self._call(body.whole)
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
