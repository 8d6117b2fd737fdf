"""A whole fetch, within its time: checked, resolved, dialled, received and read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from attrs import define, field, frozen
from orjson import Fragment
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ..concurrency.shares import Holder, Shares
from ..protocol.errors import BridgeError, Code
from ..protocol.limits import (
    MIB,
    OUTBOUND_ADDRESSES,
    OUTBOUND_AT_ONCE,
    OUTBOUND_AT_ONCE_PER_CALLER,
    OUTBOUND_WAITING,
    OUTBOUND_WAITING_PER_CALLER,
)
from ..system.memory import trim_after_loading
from .addresspolicy import AddressPolicy
from .bodytext import INFLATED, CodedBody, JsonText
from .checkedrequest import CheckedRequest
from .resolver import LookUp, SystemNames

if TYPE_CHECKING:
    from .httpclient import HttpClient, ReceivedResponse

# Put together within a millisecond: to have a thread do it takes longer.
_SHORT_BYTES: Final = MIB

_READS: Final = frozenset({"GET", "HEAD"})
_LATE: Final = BridgeError(Code.UNAVAILABLE, "no whole response within timeoutMs")


@frozen(eq=False, repr=False)
class Fetched:
    """
    What a server answered.

    :ivar headers: Names in lower case, with every value.
    :ivar text: The body, as a JSON string that is written already.
    """

    status: int
    headers: list[tuple[str, list[str]]]
    text: Fragment


@frozen(eq=False, repr=False)
class Reach:
    """
    What a fetcher can reach.  Only tests, which have no internet, pass another.

    :ivar look_up: From a name to its addresses; the system's resolver by default.
    :ivar trusted: The certificate authorities, in PEM; the system's by default.
    """

    policy: AddressPolicy = field(factory=AddressPolicy)
    look_up: LookUp | None = None
    trusted: Sequence[bytes] | None = None


@define(eq=False, repr=False)
class HttpFetcher:
    """
    Makes fetches, a limited number at once; the others wait, within their time.

    :ivar clock: Measures their time.
    :ivar call: Calls in a thread.
    :ivar look_up: From a name to its addresses.
    :ivar make_client: Loads the client, which takes a while; called in a thread, at
        the first fetch.
    """

    policy: AddressPolicy
    _clock: IReactorTime
    _call: Callable[..., Deferred[Any]]
    _look_up: LookUp
    _make_client: Callable[[], HttpClient]
    _client: HttpClient | None = field(default=None, init=False)
    _shares: Shares = field(init=False)

    _log: ClassVar[Logger] = Logger()

    def __attrs_post_init__(self) -> None:
        self._shares = Shares(
            "fetches",
            OUTBOUND_AT_ONCE,
            OUTBOUND_AT_ONCE_PER_CALLER,
            OUTBOUND_WAITING,
            OUTBOUND_WAITING_PER_CALLER,
        )

    async def fetch(self, request: CheckedRequest, caller: Holder | None) -> Fetched:
        """
        Make one fetch.

        It ends with its caller while it waits for its turn, and when it only reads:
        what a server was asked to change goes on.

        :param request: Its target was checked.
        :raise BridgeError: ``bad_request``: the target's addresses are not public, or
            the response is too large or not text; ``unavailable``: too many fetches
            wait already, or no response was received in time.
        """
        place = self._shares.place(caller, reads=request.method in _READS)
        deadline = self._clock.callLater(request.seconds, place.stop, _LATE)
        try:
            async with place:
                fetching = Deferred.fromCoroutine(self._fetch(request))
                place.end = fetching.cancel
                return await fetching
        finally:
            if deadline.active():
                deadline.cancel()

    def close(self) -> Deferred[None]:
        """End every fetch, and accept no more."""
        return self._shares.close()

    async def _fetch(self, request: CheckedRequest) -> Fetched:
        addresses = await self._addresses(request)
        if self._client is None:
            self._client = await self._call(self._make_client)
        reply = await self._client.exchange(request, addresses)
        # A host and a status are ours to log: both were checked.
        self._log.debug(
            "fetched from {host}: status {status}",
            host=request.target.host,
            status=reply.status,
        )
        return await self._read(reply)

    async def _addresses(self, request: CheckedRequest) -> Sequence[str]:
        target = request.target
        if target.is_address:
            return [target.host]
        addresses = await self._look_up(target.host)
        if not addresses:
            message = "the host's name could not be resolved"
            raise BridgeError(Code.UNAVAILABLE, message)
        if len(addresses) > OUTBOUND_ADDRESSES:
            message = "the host's name has too many addresses"
            raise BridgeError(Code.UNAVAILABLE, message)
        self.policy.check_addresses(addresses, target.port)
        return addresses

    async def _read(self, reply: ReceivedResponse) -> Fetched:
        try:
            text = await self._text(reply.body)
        finally:
            # The frames of a traceback keep it until garbage is collected.
            reply.body.clear()
        headers = reply.headers
        if reply.coding in INFLATED:
            # These describe the bytes received, not the text that is passed on.
            gone = ("content-encoding", "content-length")
            headers = [header for header in headers if header[0] not in gone]
        return Fetched(reply.status, headers, text)

    async def _text(self, body: JsonText | CodedBody) -> Fragment:
        if isinstance(body, JsonText) and body.size <= _SHORT_BYTES:
            return body.whole()
        text: Fragment = await self._call(body.whole)
        return text


def make_fetcher(
    reactor: Any, call: Callable[..., Deferred[Any]], reach: Reach
) -> HttpFetcher:
    """
    Make a fetcher; the HTTP client and TLS are loaded at its first fetch.

    :param call: Calls in a thread.
    """

    def make() -> HttpClient:
        from .httpclient import make_client

        trim_after_loading()
        return make_client(reactor, reach.trusted)

    look_up = reach.look_up or SystemNames(reactor.callFromThread).look_up
    return HttpFetcher(reach.policy, reactor, call, look_up, make)
