"""A client of the daemon's WebSocket, for commands that act as a page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import define, field
from autobahn.twisted.websocket import WebSocketClientFactory, WebSocketClientProtocol
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import (
    TCP4ClientEndpoint,
    TCP6ClientEndpoint,
    UNIXClientEndpoint,
)
from twisted.internet.error import ConnectError

from ... import __version__
from ...protocol.errors import BridgeError
from ...protocol.limits import CLOSE_SECONDS
from ...protocol.strictjson import dumps, loads_own
from ...protocol.text import visible
from ...settings.values import Address, UnixAddress
from ..terminal import CommandError
from .client import CONNECT_SECONDS, Client, NoDaemonError, refusal

Pushed = Callable[[str, Any], None]


def _ignore(event: str, data: Any) -> None:
    """Ignore a push."""


@define(eq=False)
class PageSocket:
    """
    A paired socket.

    :ivar welcome: The frame with which the daemon has paired, as plain JSON.
    :ivar pushed: Called with each event and its data.
    """

    _protocol: _Protocol
    welcome: Any = None
    pushed: Pushed = _ignore
    _last: int = 0
    _waiting: dict[str, Deferred[Any]] = field(factory=dict)
    _ended: bool = False

    async def call(self, service: str, method: str, params: Any) -> Any:
        """
        Call one method, and wait for as long as it takes.

        :return: The result as plain JSON.
        :raise BridgeError: The daemon refuses.
        :raise CommandError: It ended before it answered.
        """
        if self._ended:
            raise _gone()
        self._last += 1
        request_id = str(self._last)
        answer: Deferred[Any] = Deferred()
        self._waiting[request_id] = answer
        self._protocol.send(
            {
                "type": "request",
                "id": request_id,
                "service": service,
                "method": method,
                "params": params,
            }
        )
        frame = await answer
        if frame.get("ok") is True:
            return frame.get("result")
        raise BridgeError(*refusal(frame))

    def received(self, frame: Any) -> None:
        """Receive a frame of the daemon."""
        if frame.get("type") == "push":
            self.pushed(str(frame.get("event")), frame.get("data"))
        elif (answer := self._waiting.pop(frame.get("id"), None)) is not None:
            answer.callback(frame)

    def ended(self) -> None:
        """The socket has closed."""
        self._ended = True
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            answer.errback(_gone())

    def close(self) -> None:
        """Close the socket."""
        self._protocol.sendClose()


def _gone() -> CommandError:
    return CommandError("the daemon ended before it answered")


class _Protocol(WebSocketClientProtocol):
    """The protocol of a ``PageSocket``."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token
        self.paired: Deferred[PageSocket] = Deferred()
        self._page: PageSocket | None = None

    def send(self, frame: Any) -> None:
        self.sendMessage(dumps(frame))

    def onOpen(self) -> None:
        self.send(
            {
                "type": "hello",
                "token": self._token,
                "client": f"plugin-bridge-client/{__version__}",
            }
        )

    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        frame = loads_own(payload)
        if self._page is not None:
            self._page.received(frame)
        elif frame.get("type") == "welcome":
            self._page = PageSocket(self, frame)
            self.paired.callback(self._page)

    def onClose(
        self,
        wasClean: bool,
        code: int | None,
        reason: str | None,
    ) -> None:
        if self._page is not None:
            self._page.ended()
        elif not self.paired.called:
            text = visible(reason or "no reason was given")
            self.paired.errback(CommandError(f"the daemon refused the socket: {text}"))


async def connect(reactor: Any, client: Client) -> PageSocket:
    """
    Open a socket to the daemon and pair with it.

    :raise NoDaemonError: Nobody listens there.
    :raise CommandError: It refuses.
    """
    address = client.address
    host = "localhost" if isinstance(address, UnixAddress) else str(address)
    factory = WebSocketClientFactory(f"ws://{host}/v1/ws", reactor=reactor)
    factory.protocol = partial(  # type: ignore[assignment]  # it is only called
        _Protocol, client.token.reveal()
    )
    factory.setProtocolOptions(
        openHandshakeTimeout=CONNECT_SECONDS, closeHandshakeTimeout=CLOSE_SECONDS
    )
    try:
        protocol: Any = await _endpoint(reactor, address).connect(factory)
    except ConnectError:
        raise NoDaemonError(f"no daemon listens on {address}") from None
    page: PageSocket = await protocol.paired
    return page


def _endpoint(reactor: Any, address: Address | UnixAddress) -> Any:
    if isinstance(address, UnixAddress):
        return UNIXClientEndpoint(reactor, address.path)
    kind = TCP6ClientEndpoint if ":" in address.host else TCP4ClientEndpoint
    return kind(reactor, address.host, address.port)
