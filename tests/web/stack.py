"""The whole web stack in memory: site, guard, routes, upgrade, session, registry."""

import contextlib
import json
from collections.abc import Awaitable, Iterable, Iterator
from functools import partial
from http.client import HTTPResponse
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

from attrs import define, field, frozen
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python.failure import Failure

from bridge.protocol.budgets import Budgets, TokenBucket
from bridge.protocol.errors import BridgeError, Code
from bridge.rpc import Hub, NoParams, NoResult, Registry, method
from bridge.services.state import State
from bridge.store.store import Store
from bridge.web.guard import FollowedToken, Guard
from bridge.web.site import GuardedSite, Routes
from bridge.web.websocket.conversation import SharedContext
from bridge.web.websocket.sockets import BridgeFactory

from ..rawsocket import CLOSE, CONTINUATION, PING, PONG, TEXT, RawSocket, frame, text
from ..schemas.checking import check_frame
from ..strategies import SECRET

PORT = 42081
HOST = f"127.0.0.1:{PORT}"
TOKEN = "q" * 43
BEARER = ("Authorization", f"Bearer {TOKEN}")
JSON = ("Content-Type", "application/json")
PAGE = ("Origin", "http://localhost:22500")
EVIL = ("Origin", "https://evil.example")

Header = tuple[str, str]


@frozen
class Text:
    """Some text."""

    text: str


@frozen
class Anything:
    """Any value."""

    value: Any = None


@define
class Sample:
    """A service whose methods do what each test needs."""

    waiting: list[Deferred[Anything]] = field(factory=list)
    cancelled: int = 0
    heard: list[str] = field(factory=list)

    @method(Anything, Anything)
    async def echo(self, params: Anything) -> Anything:
        return params

    @method(Text, NoResult)
    async def note(self, params: Text) -> NoResult:
        self.heard.append(params.text)
        return NoResult()

    @method(NoParams, Anything)
    def wait(self, params: NoParams) -> Awaitable[Anything]:

        def cancel(_: object) -> None:
            self.cancelled += 1

        waiting: Deferred[Anything] = Deferred(cancel)
        self.waiting.append(waiting)
        return waiting

    @method(NoParams, NoResult)
    async def refuse(self, params: NoParams) -> NoResult:
        raise BridgeError(Code.UNAVAILABLE, "no water")

    @method(NoParams, NoResult)
    async def leak(self, params: NoParams) -> NoResult:
        raise ZeroDivisionError(SECRET)

    @method(NoParams, Anything)
    async def surrogate(self, params: NoParams) -> Anything:
        return Anything("\ud800" + SECRET)


@define
class Sink:
    """Keeps what log frames held."""

    got: list[Any] = field(factory=list)
    dropped: int = 0
    overloaded: bool = False

    def frame(self, records: Any) -> None:
        self.got.append(records)

    def drop(self, records: int, why: str) -> None:
        self.dropped += records


@frozen
class Answer:
    """A response as a client reads it."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> Any:
        return self.json["error"]["code"]


@define(eq=False)
class Page:
    """
    One page's socket, and all it has received.

    :ivar answers: Whether it answers pings and a close, as pages do.
    """

    stack: "Stack"
    raw: RawSocket
    got: list[Any] = field(factory=list)
    answers: bool = True
    _text: bytes = b""
    _closed: tuple[int, str] | None = None

    def send(self, value: Any) -> Self:
        return self.send_frames(text(value))

    def send_frames(self, *frames: bytes) -> Self:
        """Send what is written already, unless the daemon has ended the connection."""
        with contextlib.suppress(ConnectionError):
            self.raw.send(*frames)
        self.stack.flush()
        return self

    def hello(self, token: str = TOKEN) -> Self:
        """Send hello; forget the welcome."""
        self.send({"type": "hello", "token": token, "client": "test/1.0.0"})
        if self.got:
            assert self.got.pop()["type"] == "welcome"
        return self

    def request(self, method: str, request_id: str = "1", **params: Any) -> Self:
        called = {"service": "sample", "method": method, "params": params}
        return self.send({"type": "request", "id": request_id, **called})

    def take(self) -> list[Any]:
        """Return what was received since the last time."""
        self.stack.flush()
        got, self.got[:] = list(self.got), []
        for one in got:
            check_frame(one)
        return got

    @property
    def closed(self) -> tuple[int, str] | None:
        """With which code and reason the daemon closed."""
        self.stack.flush()
        return self._closed

    def read(self) -> bool:
        """Read what has come; gives whether the connection goes on."""
        while self.raw.unread or self.raw.socket.has_more:
            opcode, payload = self.raw.read() or (CLOSE, b"")
            if opcode in (TEXT, CONTINUATION):
                self._text += payload
                if self.raw.final:
                    self.got.append(json.loads(self._text))
                    self._text = b""
                continue
            if opcode == CLOSE:
                self._closed = int.from_bytes(payload[:2]), payload[2:].decode()
            if self.answers and opcode in (PING, CLOSE):
                with contextlib.suppress(ConnectionError):
                    self.raw.send(frame(PONG if opcode == PING else CLOSE, payload))
        if self.raw.socket.has_ended:
            self.raw.socket.close()
        return not self.raw.socket.has_ended


class Connection(StringTransport):
    """
    A TCP transport in memory; see ``RequestsContract``.

    Its protocol changes with an upgrade, as a real one's does. It loses no connection
    by itself: the test does, or looks at what has been asked for.

    :ivar half_closed: Whether nothing more will be sent.
    """

    protocol: Any = None
    half_closed = False
    unread = False
    aborting = False

    def write(self, data: bytes) -> None:
        """Write, unless nobody would receive it any more."""
        if not (self.half_closed or self.aborting):
            super().write(data)

    def writeSequence(self, data: Iterable[bytes]) -> None:
        self.write(b"".join(data))

    def abortConnection(self) -> None:
        self.aborting = True

    def loseWriteConnection(self) -> None:
        """Note that nothing more will be sent, and that all was."""
        self.half_closed = True
        if IHalfCloseableProtocol.providedBy(self.protocol) and not self.unread:
            self.protocol.writeConnectionLost()


class MemorySocket:
    """
    What ``RawSocket`` takes for a socket: an end of a connection in memory.

    Time passes while nothing has come.
    """

    def __init__(self, stack: "Stack") -> None:
        self._stack, self._read = stack, 0
        _, self._transport = stack.connect()

    def sendall(self, data: bytes) -> None:
        """Send bytes, unless the connection has ended."""
        if self.has_ended:
            raise ConnectionError
        self._transport.protocol.dataReceived(data)

    def recv(self, count: int) -> bytes:
        """Wait for bytes; none at the end."""
        for step in (0, *[0] * 200, *[1] * 10):
            found: bytes = self._transport.value()[self._read : self._read + count]
            if found:
                self._read += len(found)
                return found
            if self.has_ended:
                return b""
            self._stack.clock.advance(step)
        raise TimeoutError

    def close(self) -> None:
        self._transport.protocol.connectionLost(Failure(ConnectionDone()))
        self._stack.clock.advance(0)

    @property
    def has_more(self) -> bool:
        """Whether something has come that was not read."""
        return self._transport.io.tell() > self._read

    @property
    def has_ended(self) -> bool:
        """Whether the daemon has ended the connection."""
        connection = self._transport
        # Twisted tells TCP by an interface that this one has not: its end is a cut.
        return connection.half_closed or connection.disconnecting or connection.aborting


class Stack:
    """A daemon's web, and ways to talk to it."""

    def __init__(
        self,
        dev: bool = True,
        rate: float = 1000.0,
        burst: int = 1000,
        requests: tuple[float, int] = (1000.0, 1000),
        clock: Any = None,
    ) -> None:
        """Build it; ``rate`` and ``burst`` are HTTP's, ``requests`` a socket's."""
        self.clock = clock or MemoryReactorClock()
        self.sample, self.hub, self.logs = Sample(), Hub(), Sink()
        self.registry = Registry()
        self.registry.register("sample", self.sample)
        programs, pages, foreign = (
            TokenBucket(rate, burst, self.clock.seconds) for _ in range(3)
        )
        token = FollowedToken(Path("token"), TOKEN, lambda: 0.0)
        self.guard = Guard(frozenset(), token, programs, pages, foreign, PORT)
        light = frozenset({("sample", "refuse"), ("state", "get")})
        self.context = SharedContext(
            "1.2.3",
            self.registry,
            self.hub,
            self.guard,
            partial(Budgets, *requests, self.clock.seconds, light),
            self.logs,
            self.clock,
        )
        self.sockets = BridgeFactory(self.context)
        version = self.context.version
        routes = Routes(version, self.registry, dev, self.sockets)
        self.site = GuardedSite(self.guard, routes, self.clock)
        self.pages: list[Page] = []

    def add_state(self) -> None:
        """Add the service ``state`` with an empty store."""
        path = Path("nowhere") / "state.json"
        store = Store.open(path, lambda f, *args: succeed(None))
        self.registry.register("state", State(store, str(path)))

    def flush(self) -> None:
        """Begin a new turn, and have every page read what has come."""
        self.clock.advance(0)
        self.pages = [page for page in self.pages if page.read()]

    def advance(self, seconds: float) -> None:
        """Let time pass, in steps short enough for every timer."""
        steps = max(1, round(seconds / 0.25))
        for _ in range(steps):
            self.clock.advance(seconds / steps)
            self.flush()

    def connect(self) -> tuple[Any, Connection]:
        address = IPv4Address("TCP", "127.0.0.1", PORT)
        channel = self.site.buildProtocol(address)
        transport = Connection(hostAddress=address, peerAddress=address)
        transport.protocol = channel
        channel.makeConnection(transport)
        return channel, transport

    def raw(self, *pieces: bytes) -> bytes:
        """Send bytes, and give all that is answered at once."""
        _, transport = self.connect()
        for piece in pieces:
            transport.protocol.dataReceived(piece)
        answered: bytes = transport.value()
        transport.protocol.connectionLost(Failure(ConnectionDone()))
        self.clock.advance(0)
        return answered

    def ask(
        self,
        method: str,
        path: str,
        *headers: Header,
        body: bytes | None = None,
        host: str | None = HOST,
    ) -> Answer:
        """Send one request; a body is sent with its length."""
        request = write_request(method, path, headers, body, host)
        return read_answer(self.raw(request), method)

    def call(self, method: str, *headers: Header, body: bytes = b"{}") -> Answer:
        """Call a method of the sample by HTTP, as a program that knows the token."""
        return self.ask(
            "POST", f"/v1/sample/{method}", BEARER, JSON, *headers, body=body
        )

    def open(self, *headers: Header, port: int = PORT) -> Page:
        origin = dict(headers).get("Origin")
        raw = RawSocket(port, origin=origin, connection=MemorySocket(self))
        assert raw.status == 101, raw.status
        page = Page(self, raw)
        self.pages.append(page)
        return page


def write_request(
    method: str,
    path: str,
    headers: Iterable[Header],
    body: bytes | None = None,
    host: str | None = HOST,
) -> bytes:
    """Write one HTTP/1.1 request."""
    lines = [f"{method} {path} HTTP/1.1"]
    if host is not None:
        lines.append(f"Host: {host}")
    lines += [f"{name}: {value}" for name, value in headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")


def cut_up(data: bytes, lengths: Iterable[int]) -> Iterator[bytes]:
    """Cut bytes into pieces of these lengths, and one with the rest; none is empty."""
    source = BytesIO(data)
    for length in (*lengths, -1):
        if piece := source.read(length):
            yield piece


WAIT = write_request("POST", "/v1/sample/wait", (BEARER, JSON), b"{}")
"""A call that the test answers."""


def read_answer(received: bytes, method: str = "GET") -> Answer:
    """Read the response to one request as Python's HTTP client does."""
    # All that it asks of a socket is the file to read from.
    socket: Any = SimpleNamespace(makefile=lambda _: BytesIO(received))
    response = HTTPResponse(socket, method=method)
    response.begin()
    headers: dict[str, str] = {}
    for name, value in response.getheaders():
        assert name.lower() not in headers, f"{name} twice"
        headers[name.lower()] = value
    return Answer(response.status, headers, response.read())
