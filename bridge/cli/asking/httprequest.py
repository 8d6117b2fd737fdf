"""
One HTTP request to a daemon, with treq, for a command that waits for the answer.

treq needs a reactor.  The one of the process can be run only once, and a command may
ask several times; so these requests have one of their own, which runs while one waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from io import BytesIO
from typing import Any

from attrs import frozen
from treq.client import HTTPClient
from twisted.internet import defer
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import (
    TCP4ClientEndpoint,
    TCP6ClientEndpoint,
    UNIXClientEndpoint,
)
from twisted.internet.error import ConnectError
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.task import Cooperator
from twisted.python.failure import Failure
from twisted.web.client import (
    Agent,
    FileBodyProducer,
    HTTPConnectionPool,
    RequestTransmissionFailed,
    ResponseFailed,
)
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgentEndpointFactory
from zope.interface import implementer

from ...settings.values import Address, UnixAddress


class NobodyListensError(Exception):
    """There is nobody at the address."""


class BrokenOffError(Exception):
    """Somebody is there, but has not answered whole."""


class OversizeError(Exception):
    """The answer is longer than it may be."""


@implementer(IAgentEndpointFactory)
@frozen
class _Always:
    """Returns the one endpoint there is; no proxy of the environment."""

    endpoint: IStreamClientEndpoint

    def endpointForURI(self, uri: object) -> IStreamClientEndpoint:
        return self.endpoint


def post(
    address: Address | UnixAddress,
    path: str,
    body: bytes,
    headers: Mapping[str, str],
    connect_seconds: float,
) -> tuple[int, bytes]:
    """
    Post a body, and wait for the answer as long as it takes.

    :param connect_seconds: How long connecting may take.
    :return: The status, and the body.
    :raise NobodyListensError: No connection could be made.
    :raise BrokenOffError: It ended before the whole answer was received.
    """
    asking = _request(address, "POST", path, headers, body, connect_seconds, None)
    return _answer(Deferred.fromCoroutine(asking))


def get(
    address: Address | UnixAddress, path: str, seconds: float, limit: int
) -> tuple[int, bytes]:
    """
    Get a short answer of a program that need not be a daemon.

    :param seconds: How long the whole of it may take.
    :param limit: The bytes that the answer may have.
    :return: The status, and the body.
    :raise NobodyListensError: No connection could be made.
    :raise BrokenOffError: No whole answer within these limits was received.
    """
    asking = _request(address, "GET", path, {}, None, seconds, limit)
    answer = Deferred.fromCoroutine(asking)
    return _answer(answer.addTimeout(seconds, _own_reactor()))


def _answer(asking: Deferred[tuple[int, bytes]]) -> tuple[int, bytes]:
    try:
        return _wait_for(asking)
    except ConnectError:
        raise NobodyListensError from None
    except (
        RequestTransmissionFailed,
        ResponseFailed,
        defer.TimeoutError,
        OversizeError,
    ):
        raise BrokenOffError from None


async def _request(
    address: Address | UnixAddress,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes | None,
    connect_seconds: float,
    limit: int | None,
) -> tuple[int, bytes]:
    reactor = _own_reactor()
    endpoint = _endpoint(reactor, address, connect_seconds)
    pool = HTTPConnectionPool(reactor, persistent=False)
    agent = Agent.usingEndpointFactory(reactor, _Always(endpoint), pool)
    # Without one it would write by the reactor of the process.
    in_turns = Cooperator(scheduler=lambda write: reactor.callLater(0, write))
    # The daemon has this name, whatever it listens on; treq reads no IPv6 literal.
    port = "" if isinstance(address, UnixAddress) else f":{address.port}"
    answer: Any = await HTTPClient(agent).request(
        method,
        f"http://localhost{port}{path}",
        headers=Headers({name: [value] for name, value in headers.items()}),
        data=None if body is None else FileBodyProducer(BytesIO(body), in_turns),
        allow_redirects=False,
        unbuffered=True,
        reactor=reactor,
    )
    content = bytearray()

    def keep(data: bytes) -> None:
        content.extend(data)
        if limit is not None and len(content) > limit:
            raise OversizeError

    await answer.collect(keep)
    return answer.code, bytes(content)


def _endpoint(
    reactor: Any, address: Address | UnixAddress, seconds: float
) -> IStreamClientEndpoint:
    endpoint: Any
    if isinstance(address, UnixAddress):
        endpoint = UNIXClientEndpoint(reactor, address.path, timeout=seconds)
    else:
        kind = TCP6ClientEndpoint if ":" in address.host else TCP4ClientEndpoint
        endpoint = kind(reactor, address.host, address.port, timeout=seconds)
    result: IStreamClientEndpoint = endpoint
    return result


@cache
def _own_reactor() -> Any:
    """Make a reactor that handles no signals: Ctrl-C is for the command."""
    reactor: Any = SelectReactor()
    reactor.startRunning(installSignalHandlers=False)
    return reactor


def _wait_for(doing: Deferred[tuple[int, bytes]]) -> tuple[int, bytes]:
    reactor = _own_reactor()
    done: list[Any] = []
    doing.addBoth(done.append)
    while not done:
        reactor.runUntilCurrent()
        # Nothing else may be under way, so that it would wait for ever.
        if not done:
            reactor.doIteration(reactor.timeout())
    outcome = done[0]
    if isinstance(outcome, Failure):
        outcome.raiseException()
    result: tuple[int, bytes] = outcome
    return result
