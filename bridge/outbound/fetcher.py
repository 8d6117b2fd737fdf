"""A whole fetch, within its time: checked, resolved, dialled, received and read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from attrs import evolve, field
from orjson import Fragment
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ..classes import define
from ..concurrency.shares import Holder, Shares
from ..http.client import HttpClient
from ..http.target import AddressPolicy, CheckedRequest
from ..protocol import limits
from ..protocol.errors import unavailable
from .bodytext import INFLATED, CompressedBody, PlainBody, too_large

if TYPE_CHECKING:
    from ..http.exchange import Head

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
