"""Tests of the web over real TCP, for what only a real transport does."""

from socket import socket

from twisted.trial.unittest import TestCase

from bridge.protocol.limits import MIB

from ..freedesktop.buses import HastyReactor
from ..rawsocket import close_frame, connected
from ..reactors import reactor
from ..waiting import until
from .stack import Stack, write_request
from .test_requestscontract import UPGRADE
from .websocket.test_socket import HELLO


class TcpTests(TestCase):
    """Pages that read nothing; the system keeps little for them."""

    async def connect(self, stack: Stack) -> socket:
        """Listen, and open the socket of a page that has sent hello."""
        listening = reactor.listenTCP(0, stack.site, interface="127.0.0.1")
        self.addCleanup(listening.stopListening)
        stack.guard.port = port = listening.getHost().port
        page = self.enterContext(connected(port, 4096))
        host = f"127.0.0.1:{port}"
        page.sendall(write_request("GET", "/v1/ws", UPGRADE, host=host) + HELLO)
        await until(lambda: len(stack.hub._subscribers) == 1)
        return page

    async def assert_leaves(self, stack: Stack) -> None:
        await until(lambda: not stack.sockets._sockets_authenticated)
        self.assertEqual(len(stack.hub._subscribers), 0)

    async def test_attack_page_that_never_reads(self) -> None:
        """A page that reads nothing is dropped."""
        stack = Stack(clock=HastyReactor())
        await self.connect(stack)
        socket = next(iter(stack.sockets._sockets_authenticated))
        for _ in range(20):
            socket.conversation.send_queue.put(b'"%s"' % (b"x" * 4 * MIB))
        self.assertEqual(len(stack.hub._subscribers), 1)
        await self.assert_leaves(stack)

    async def test_attack_close_without_reading(self) -> None:
        """A page that sends a close frame, but reads nothing, is dropped soon."""
        stack = Stack(clock=reactor)
        page = await self.connect(stack)
        socket = next(iter(stack.sockets._sockets_authenticated))
        for _ in range(3):
            socket.conversation.send_queue.put(b'"%s"' % (b"x" * 8 * MIB))
        page.sendall(close_frame(1000))
        await self.assert_leaves(stack)
