"""A whole fetch, within its time: checked, resolved, dialled, received and read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from attrs import define, field, frozen
from orjson import Fragment
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ..protocol.errors import SHUTTING_DOWN, BridgeError, Code, shutting_down
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
class _Fetch:
    """
    A fetch that waits for its turn, or is under way.

    :ivar caller: The caller that asked.
    :ivar turn: Fires when it may begin.
    :ivar why: Why it was ended, when it was.
    """

    caller: object
    turn: Deferred[None]
    work: Deferred[Fetched]
    done: Deferred[None] = field(factory=Deferred)
    why: BridgeError | None = None

    def end(self, message: str) -> None:
        """End it."""
        self.why = self.why or BridgeError(Code.UNAVAILABLE, message)
        self.work.cancel()


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
    _waiting: list[_Fetch] = field(factory=list, init=False)
    _under_way: list[_Fetch] = field(factory=list, init=False)
    _beginning: bool = field(default=False, init=False)
    _closed: bool = field(default=False, init=False)

    _log: ClassVar[Logger] = Logger()

    async def fetch(self, request: CheckedRequest, caller: object) -> Fetched:
        """
        Make one fetch.  It continues when its caller has gone.

        :param request: Its target was checked.
        :raise BridgeError: ``bad_request``: the target's addresses are not public, or
            the response is too large or not text; ``unavailable``: too many fetches
            wait already, or no response was received in time.
        """
        self._check_room(caller)
        turn: Deferred[None] = Deferred()
        work = Deferred.fromCoroutine(self._in_turn(turn, request))
        fetch = _Fetch(caller, turn, work)
        self._waiting.append(fetch)
        deadline = self._clock.callLater(
            request.seconds, fetch.end, "no whole response within timeoutMs"
        )
        self._begin()
        try:
            return await fetch.work
        except Exception:
            if fetch.why is not None:
                raise fetch.why from None
            raise
        finally:
            if deadline.active():
                deadline.cancel()
            held = self._under_way if fetch in self._under_way else self._waiting
            held.remove(fetch)
            self._begin()
            fetch.done.callback(None)

    def close(self) -> Deferred[Any]:
        """End every fetch, and accept no more."""
        self._closed = True
        for fetch in (ending := [*self._waiting, *self._under_way]):
            fetch.end(SHUTTING_DOWN)
        return DeferredList([fetch.done for fetch in ending])

    def _check_room(self, caller: object) -> None:
        if self._closed:
            raise shutting_down()
        if (
            len(self._waiting) >= OUTBOUND_WAITING
            or _of(caller, self._waiting) >= OUTBOUND_WAITING_PER_CALLER
        ):
            raise BridgeError(Code.UNAVAILABLE, "too many fetches wait already")

    def _begin(self) -> None:
        """Begin the fetches whose turn it is, one after the other."""
        if self._beginning:
            return  # one of them has ended while it began
        self._beginning = True
        while (fetch := self._next()) is not None:
            self._waiting.remove(fetch)
            self._under_way.append(fetch)
            fetch.turn.callback(None)
        self._beginning = False

    def _next(self) -> _Fetch | None:
        """Return the first fetch that may begin."""
        if self._closed or len(self._under_way) >= OUTBOUND_AT_ONCE:
            return None
        for fetch in self._waiting:
            if _of(fetch.caller, self._under_way) < OUTBOUND_AT_ONCE_PER_CALLER:
                return fetch
        return None

    async def _in_turn(self, turn: Deferred[None], request: CheckedRequest) -> Fetched:
        await turn
        return await self._fetch(request)

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


def _of(caller: object, fetches: Sequence[_Fetch]) -> int:
    return sum(fetch.caller == caller for fetch in fetches)


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
