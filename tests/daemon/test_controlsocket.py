"""The control socket: who may connect, and how a command converses there."""

import errno
import json
import os
import socket
import stat
from pathlib import Path
from typing import Any

from attrs import evolve
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, UNIXClientEndpoint
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IReactorUNIX
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransportWithDisconnection
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase, TestCase
from zope.interface import directlyProvides

from bridge.daemon import controlsocket
from bridge.datadir.paths import control_address
from bridge.protocol import limits
from bridge.protocol.errors import CloseReason

from ..directories import fresh_directory, planted
from ..disk import Plan, going_wrong
from ..waiting import until
from ..web.stack import TOKEN, Stack

HELLO = {"type": "hello", "token": TOKEN, "client": "test/1.0.0"}


class PeerTests(SynchronousTestCase):
    def test_no_credentials(self):
        """On loopback, and on a system without the option, nothing is known."""
        with socket.socket(socket.AF_INET) as inet:
            self.assertIsNone(controlsocket.peer_user(inet))
        nobody: Any = None
        self.patch(controlsocket, "socket", object())
        self.assertIsNone(controlsocket.peer_user(nobody))


class Wire(StringTransportWithDisconnection):
    """A connection of this user."""

    aborted = False

    def getHandle(self):
        return

    def abortConnection(self):
        self.aborted = True
        self.loseConnection()


class StuckWire(Wire):
    """One whose peer does not read."""

    def loseConnection(self):
        """Wait for the peer, unless the connection is aborted."""
        if self.aborted:
            super().loseConnection()


class ConversationTests(SynchronousTestCase):
    def setUp(self):
        self.clock = Clock()
        self.context = evolve(Stack().context, clock=self.clock)
        self.patch(controlsocket, "peer_user", lambda peer: None)
        self.connect()

    def connect(self, wire: Any = None) -> None:
        self.wire = wire or Wire()
        self.connection = controlsocket.ControlConnection(self.context, lambda: None)
        self.wire.protocol = self.connection
        self.connection.makeConnection(self.wire)

    def send(self, *frames: Any) -> list[Any]:
        """Send frames or bytes; gives what is answered."""
        for frame in frames:
            line = frame if type(frame) is bytes else json.dumps(frame).encode()
            self.connection.dataReceived(line + b"\n")
        return self.received()

    def received(self) -> list[Any]:
        """Give what has come since the last look."""
        text = self.wire.value()
        self.wire.clear()
        assert text == b"" or text.endswith(b"\n")
        return [json.loads(line) for line in text.splitlines()]

    def assert_closed(self, reason: CloseReason, frames: list[Any]) -> None:
        """Check that the last frame is the reason of a close."""
        closed = {"type": "close", "code": reason.code, "reason": str(reason)}
        self.assertEqual(frames[-1], closed)
        self.assertFalse(self.wire.connected)
        self.successResultOf(self.connection.ended)

    def test_attack_anything_but_hello(self):
        """So it is closed for anything else, such as a browser's request."""
        for line in (b"GET / HTTP/1.1\r", b"\xff\xfe", b"[]", b"{}"):
            self.connect()
            self.assert_closed(CloseReason.HELLO_REQUIRED, self.send(line))

    def test_attack_endless_line(self):
        """A line without an end is not kept for ever, before the hello or after."""
        self.connection.dataReceived(b"x" * (limits.HELLO_FRAME_BYTES + 1))
        self.assert_closed(CloseReason.TOO_BIG, self.received())
        self.connect()
        self.send(HELLO)
        self.connection.dataReceived(b"x" * (limits.FRAME_BYTES + 1))
        self.assert_closed(CloseReason.TOO_BIG, self.received())

    def test_nothing_after_a_close(self):
        """What follows a frame that closes it is not read, and not answered."""
        frames = self.send(b"{}\n" + json.dumps(HELLO).encode())
        self.assertEqual([frame["type"] for frame in frames], ["close"])

    def test_attack_command_that_does_not_read(self):
        """A command that does not read what is sent is not waited for."""
        self.connect(StuckWire())
        self.connection.close(CloseReason.SHUTDOWN)
        self.assertFalse(self.wire.aborted)
        self.clock.advance(limits.CLOSE_SECONDS)
        self.assertTrue(self.wire.aborted)
        self.successResultOf(self.connection.ended)

    def test_backpressure(self):
        """While the peer does not read, what is pushed waits."""
        self.send(HELLO)
        producer: Any = self.wire.producer
        producer.pauseProducing()
        self.context.hub.push("build", {})
        self.assertEqual(self.received(), [])
        producer.resumeProducing()
        self.assertEqual([frame["event"] for frame in self.received()], ["build"])


class Client(Protocol):
    """Sends a hello, and reads until the connection is closed."""

    def __init__(self):
        self.got = b""
        self.welcomed: Deferred[None] = Deferred()
        self.ended: Deferred[bytes] = Deferred()

    def connectionMade(self):
        self.transport.write(json.dumps(HELLO).encode() + b"\n")

    def dataReceived(self, data):
        self.got += data
        if not self.welcomed.called:
            self.welcomed.callback(None)

    def connectionLost(self, reason=connectionDone):
        self.ended.callback(self.got)


class ListeningTests(TestCase):
    def setUp(self):
        self.path = fresh_directory(self) / "control.socket"
        self.looks: list[None] = []
        self.control = self.made(self.path)

    def made(self, path: Path, on: Any = reactor) -> controlsocket.ControlSocket:
        context = evolve(Stack().context, clock=reactor)
        made = controlsocket.ControlSocket(
            on, path, context, lambda: self.looks.append(None)
        )
        self.addCleanup(made.close)
        self.addCleanup(made.close_all, CloseReason.SHUTDOWN)
        return made

    async def connect(self) -> Any:
        address = control_address(self.path)
        if isinstance(address, tuple):
            endpoint: Any = TCP4ClientEndpoint(reactor, *address)
        else:
            endpoint = UNIXClientEndpoint(reactor, address)
        return await endpoint.connect(Factory.forProtocol(Client))

    def warnings(self, listening: controlsocket.ControlSocket) -> list[str]:
        """Listen; gives what is warned of."""
        with capturedLogs() as logs:
            listening.listen()
        printed = [e for e in logs if e["log_namespace"].startswith("bridge")]
        return [str(event.get("why")) for event in printed]

    async def test_own_user(self):
        """It is for its user alone, whatever the umask, and gone once it is closed."""
        self.addCleanup(os.umask, os.umask(0))
        self.control.listen()
        self.assertEqual(stat.S_IMODE(self.path.lstat().st_mode), 0o600)
        client = await self.connect()
        await client.welcomed
        await self.control.close()
        self.assertFalse(os.path.lexists(self.path))
        await self.control.close_all(CloseReason.SHUTDOWN)
        self.assertEqual(self.control._connections, [])
        got = await client.ended
        self.assertIn(b'"reason":"shutdown"', got.splitlines()[-1])

    async def test_attack_another_user(self):
        """A process of another user gets nothing, even if it reached the file."""
        self.patch(controlsocket, "peer_user", lambda peer: os.geteuid() + 1)
        self.control.listen()
        client = await self.connect()
        self.assertEqual(await client.ended, b"")
        self.assertEqual(self.looks, [])

    async def test_attack_too_many(self):
        """Of connections there is a number; more are closed at once."""
        self.patch(controlsocket, "CONTROL_CONNECTIONS", 1)
        self.assertGreater(limits.CONTROL_CONNECTIONS, 1)
        self.control.listen()
        first = await self.connect()
        await first.welcomed
        self.assertEqual(await (await self.connect()).ended, b"")
        first.transport.loseConnection()
        await until(lambda: not self.control._connections)
        await (await self.connect()).welcomed

    async def test_token_is_announced(self):
        """Whoever of this user connects makes the daemon look at its token."""
        self.control.listen()
        controlsocket.announce_token(self.path)
        await until(lambda: self.looks)
        self.assertEqual(len(self.looks), 1)

    async def test_without_unix_sockets(self):
        """Where there can be none, it is a loopback port, which a file names."""
        long, refused = (self.path.with_name(name) for name in ("x" * 120, "refused"))
        there = WithSocketsElsewhere()
        directlyProvides(there, IReactorUNIX)
        on_each = ((self.path, WithoutUnix()), (long, reactor), (refused, there))
        for path, on in on_each:
            control, self.path = self.made(path, on), path
            control.listen()
            self.assertEqual(stat.S_IMODE(path.lstat().st_mode), 0o600)
            self.assertEqual(control_address(path)[0], "127.0.0.1")
            client = await self.connect()
            await client.welcomed
            # The file of a daemon that was killed is replaced.
            self.path.write_text("127.0.0.1:1\n")
            after = self.made(path, on)
            after.listen()
            await (await self.connect()).welcomed
            await after.close()
            self.assertFalse(os.path.lexists(path))

    def test_full_disk(self):
        """A file that names no port is not left: the next start would refuse it."""
        control = self.made(self.path, WithoutUnix())
        with going_wrong(Plan(1, 1, errno.ENOSPC)):
            self.assertEqual(self.warnings(control), [os.strerror(errno.ENOSPC)])
        self.assertFalse(os.path.lexists(self.path))

    def test_attack_link_in_its_place(self):
        """What is no socket of ours is neither used nor removed."""
        target = self.path.with_name("target")
        for make in (
            lambda: self.path.symlink_to(target),
            lambda: self.path.write_text("precious"),
            self.path.mkdir,
        ):
            make()
            why = f"{self.path} is not a socket of your user"
            self.assertEqual(self.warnings(self.control), [why])
            self.assertTrue(os.path.lexists(self.path))
            if self.path.is_dir():
                self.path.rmdir()
            else:
                self.path.unlink()
        self.assertFalse(target.exists())

    def test_attack_foreign_socket(self):
        """The socket of another user is not removed."""
        with socket.socket(socket.AF_UNIX) as foreign:
            foreign.bind(str(self.path))
        planted(self, self.path)
        why = f"{self.path} is not a socket of your user"
        self.assertEqual(self.warnings(self.control), [why])


class WithoutUnix:
    """The reactor of a system without Unix sockets; it has the method all the same."""

    def listenUNIX(self, *arguments: Any, **more: Any) -> Any:
        raise AssertionError("UNIX support is not present")

    def listenTCP(self, *arguments: Any, **more: Any) -> Any:
        return reactor.listenTCP(*arguments, **more)


class WithSocketsElsewhere(WithoutUnix):
    """As on exFAT, which leaves a file in the place of the socket it refuses."""

    def listenUNIX(self, address: str, *arguments: Any, **more: Any) -> Any:
        Path(address).touch()
        error = OSError(errno.EIO, os.strerror(errno.EIO))
        raise CannotListenError(None, address, error)
