"""Tests of the web over real TCP, for what only a real transport does."""

import json
from typing import Any

from autobahn.twisted.websocket import WebSocketClientFactory, WebSocketClientProtocol
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from bridge.protocol.limits import MIB
from bridge.protocol.strictjson import dumps

from ..freedesktop.buses import HastyReactor
from ..waiting import until
from .stack import TOKEN, Stack


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

    def connect(self, stack: Stack) -> Deferred[Any]:
        """Listen, and open a socket whose page reads on request."""
        tcp: Any = reactor
        listening = tcp.listenTCP(0, stack.site, interface="127.0.0.1")
        self.addCleanup(listening.stopListening)
        stack.guard.port = listening.getHost().port
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
