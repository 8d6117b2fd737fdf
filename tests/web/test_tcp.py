"""Tests of the web over real TCP, for what only a real transport does."""

import json
from typing import Any

from autobahn.twisted.websocket import WebSocketClientFactory, WebSocketClientProtocol
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import connectionDone
from twisted.internet.testing import AccumulatingProtocol
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from bridge.protocol import limits
from bridge.protocol.limits import MIB
from bridge.protocol.strictjson import dumps

from ..freedesktop.buses import HastyReactor
from ..waiting import until
from .stack import BEARER, JSON, TOKEN, Stack, read_answer, write_request


class Client(WebSocketClientProtocol):
    """A page over TCP."""

    def onOpen(self) -> None:
        """Send hello."""
        self.sendMessage(dumps({"type": "hello", "token": TOKEN, "client": "c"}))

    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        """Note the welcome."""
        if json.loads(payload)["type"] == "welcome":
            self.factory.opened.callback(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Note the end."""
        super().connectionLost(reason)
        self.factory.closed.callback(None)


class TcpTests(TestCase):
    """Tests over real TCP, for what only a real transport does."""

    def listen(self, stack: Stack) -> int:
        """Listen; return the port."""
        tcp: Any = reactor
        listening = tcp.listenTCP(0, stack.site, interface="127.0.0.1")
        self.addCleanup(listening.stopListening)
        stack.guard.port = port = listening.getHost().port
        return int(port)

    def connect(self, stack: Stack) -> Deferred[Any]:
        """Listen, and open a socket whose page reads on request."""
        tcp: Any = reactor
        self.listen(stack)
        factory = WebSocketClientFactory(f"ws://127.0.0.1:{stack.guard.port}/v1/ws")
        factory.protocol = Client
        # Its timers, on the global reactor, would outlive a test.
        factory.setProtocolOptions(
            closeHandshakeTimeout=0, serverConnectionDropTimeout=0
        )
        factory.opened = Deferred()
        factory.closed = Deferred()
        connector = tcp.connectTCP("127.0.0.1", stack.guard.port, factory)
        self.addCleanup(lambda: factory.closed)
        self.addCleanup(connector.disconnect)
        opened: Deferred[Any] = factory.opened
        return opened

    async def test_slow_reader_of_an_answer(self) -> None:
        """All of a large one reaches who begins to read it when we have closed."""
        self.patch(limits, "LINGER_SECONDS", 0.1)
        stack = Stack(clock=reactor)
        port = self.listen(stack)
        channels: list[Any] = []
        build = stack.site.buildProtocol

        def keep(address: Any) -> Any:
            channels.append(build(address))
            return channels[-1]

        self.patch(stack.site, "buildProtocol", keep)
        client: Any = AccumulatingProtocol()
        ended: Deferred[None] = Deferred()
        client.closedDeferred = ended
        await connectProtocol(TCP4ClientEndpoint(reactor, "127.0.0.1", port), client)
        call = dumps({"value": "x" * (3 * MIB // 2)})
        path = "/v1/kettle/echo"
        host = f"127.0.0.1:{port}"
        client.transport.write(write_request("POST", path, (BEARER, JSON), call, host))
        client.transport.pauseProducing()
        await until(lambda: channels and channels[0].transport.disconnected)
        client.transport.resumeProducing()
        await ended
        self.assertTrue(client.closedReason.check(ConnectionDone))
        self.assertEqual(read_answer(client.data).body, call)

    async def test_attack_page_that_never_reads(self) -> None:
        """A page that reads nothing is dropped: its place is free again."""
        stack = Stack(clock=HastyReactor())
        client = await self.connect(stack)
        client.transport.pauseProducing()
        socket: Any = next(iter(stack.sockets._sockets_authenticated))
        for _ in range(20):
            socket.conversation.send_queue.put(b'"%s"' % (b"x" * 4 * MIB))
        self.assertEqual(len(stack.hub), 1)
        await until(lambda: not stack.sockets._sockets_authenticated)
        self.assertEqual(len(stack.hub), 0)
        client.transport.resumeProducing()

    async def test_attack_close_without_reading(self) -> None:
        """A page that sends a close frame, but reads nothing, loses its place soon."""
        stack = Stack(clock=reactor)
        client = await self.connect(stack)
        client.transport.pauseProducing()
        socket: Any = next(iter(stack.sockets._sockets_authenticated))
        for _ in range(3):
            socket.conversation.send_queue.put(b'"%s"' % (b"x" * 8 * MIB))
        client.sendClose(1000)
        await until(lambda: not stack.sockets._sockets_authenticated)
        self.assertEqual(len(stack.hub), 0)
        client.transport.resumeProducing()
