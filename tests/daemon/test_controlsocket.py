"""The control socket: who may connect, and what happens where there can be none."""

from __future__ import annotations

import os
import socket
import struct
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import UNIXClientEndpoint
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.daemon import controlsocket
from bridge.daemon.controlsocket import ControlSocket, announce_token, peer_user

from ..directories import fresh_directory
from ..waiting import until


class Greeting(Protocol):
    """A site that greets."""

    transport: Any

    def connectionMade(self):
        """Greet."""
        self.transport.write(b"hello")


class Client(Protocol):
    """Reads until the connection is closed, or has greeted."""

    transport: Any

    def __init__(self):
        self.got = b""
        self.ended: Deferred[bytes] = Deferred()

    def dataReceived(self, data):
        """Keep it, and leave."""
        self.got += data
        self.transport.loseConnection()

    def connectionLost(self, reason=connectionDone):
        """Report what was received."""
        self.ended.callback(self.got)


class PeerTests(SynchronousTestCase):
    """Tests for ``peer_user``."""

    def test_this_user(self):
        """The kernel reports the user at the other end."""
        one, other = socket.socketpair(socket.AF_UNIX)
        self.addCleanup(one.close)
        self.addCleanup(other.close)
        self.assertEqual(peer_user(one), os.geteuid())

    def test_system_without_credentials(self):
        """Without the option nothing is known."""
        nobody: Any = None
        self.patch(controlsocket, "socket", object())
        self.assertIsNone(peer_user(nobody))


class ControlSocketTests(TestCase):
    """Tests for the socket itself."""

    def setUp(self):
        """A socket that greets."""
        self.path = fresh_directory(self) / "control.socket"
        self.admitted: list[None] = []
        self.control = self.serving(Factory.forProtocol(Greeting))
        self.addCleanup(self.control.close)

    def serving(self, site):
        """Make a control socket for a site."""
        return ControlSocket(
            reactor, self.path, site, lambda: self.admitted.append(None)
        )

    async def got(self):
        """Connect; gives what comes."""
        endpoint = UNIXClientEndpoint(reactor, str(self.path))
        client = await endpoint.connect(Factory.forProtocol(Client))
        return await client.ended

    async def test_own_user(self):
        """The site serves this user; the file is gone when it is closed."""
        self.assertTrue(self.control.listen())
        self.assertEqual(await self.got(), b"hello")
        self.assertEqual(len(self.admitted), 1)
        await self.control.close()
        self.assertFalse(os.path.lexists(self.path))

    async def test_attack_another_user(self):
        """A process of another user gets nothing, even if it reached the file."""
        foreign = struct.pack("3i", 1, os.geteuid() + 1, 1)
        user = struct.unpack("3i", foreign)[1]
        self.patch(controlsocket, "peer_user", lambda connected: user)
        self.control.listen()
        self.assertEqual(await self.got(), b"")
        self.assertEqual(self.admitted, [])

    async def test_announced_token(self):
        """An announcement is a connection that is left at once."""
        self.control.listen()
        announce_token(self.path)
        await until(lambda: bool(self.admitted))

    async def test_nobody_to_announce_to(self):
        """Without a socket, or with one that is too far down, nothing happens."""
        announce_token(self.path)
        announce_token(self.path / ("x" * 200))
        self.patch(controlsocket, "socket", object())
        announce_token(self.path)

    async def test_site_that_is_full(self):
        """A connection that the site does not accept is closed."""
        full: Any = Factory()
        full.buildProtocol = lambda addr: None
        self.control = self.serving(full)
        self.addCleanup(self.control.close)
        self.control.listen()
        self.assertEqual(await self.got(), b"")

    async def test_none(self):
        """Where it cannot be, the reason is logged, and closing is fine."""
        self.path.mkdir()
        with capturedLogs() as logs:
            self.assertFalse(self.control.listen())
        reasons = [str(event.get("why")) for event in logs]
        self.assertIn(f"{self.path} is not a socket of ours", reasons)
        await self.control.close()
