"""Tests for the sinks that are WebSocket clients, against servers on real ports."""

import contextlib
import json
import os
import socket
from typing import Any
from urllib.parse import parse_qs, urlsplit

from attrs import evolve
from autobahn.twisted.websocket import WebSocketServerFactory, WebSocketServerProtocol
from autobahn.websocket import protocol
from autobahn.websocket.xormasker import create_xor_masker
from twisted.internet.defer import maybeDeferred
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.protocol import limits
from bridge.protocol.limits import SINK_FRAME_BYTES, SINK_RETRY_SECONDS
from bridge.sinks import websocket
from bridge.sinks.fanout import Health, UnavailableError
from bridge.sinks.websocket import LOOPBACK, SinkConnection
from tests.contracts import SinkContract

from ..rawsocket import CONTINUATION, TEXT, frame
from ..reactors import reactor
from ..waiting import until
from .overlays import FIELDS, Toast, i32, panel, string
from .samples import FULL, LEAST, png, text64


def xsoverlay(path: str, text: str) -> Toast:
    """Read a frame by XSOverlay's documentation of its WebSocket."""
    client = parse_qs(urlsplit(path).query)["client"]
    assert len(client) == 1 and client[0], "connections without a client are ignored"
    envelope = json.loads(text)
    assert set(envelope) == {"sender", "target", "command", "jsonData", "rawData"}
    assert envelope["target"] == "xsoverlay"
    assert envelope["command"] == "SendNotification"
    assert envelope["sender"] == client[0]
    shown = json.loads(string(envelope["jsonData"]))
    assert i32(shown.pop("type")) == 1
    given = {name: FIELDS[name](value) for name, value in shown.items()}
    return panel({"messageType": 1, **given})


def ovrtoolkit(path: str, text: str) -> dict[str, str]:
    """Read a frame by OVR Toolkit's wiki."""
    assert path == "/api"
    envelope = json.loads(text)
    assert set(envelope) == {"messageType", "json"}
    assert envelope["messageType"] == "SendNotification"
    shown = json.loads(string(envelope["json"]))
    assert {"title", "body"} <= set(shown) <= {"title", "body", "icon"}
    return {name: string(value) for name, value in shown.items()}


class Server:
    """A WebSocket server that keeps what it gets."""

    def __init__(self) -> None:
        self.got: list[tuple[str, str]] = []
        self.connections: list[Any] = []
        self.port: Any = None

    def listen(self, port: int = 0) -> int:
        server = self

        class Kept(WebSocketServerProtocol):
            def onOpen(self) -> None:
                server.connections.append(self)

            def onMessage(self, payload: bytes, isBinary: bool) -> None:
                assert not isBinary
                server.got.append((self.http_request_uri, payload.decode("utf-8")))

        factory = WebSocketServerFactory()
        factory.protocol = Kept
        factory.noisy = False
        self.port = reactor.listenTCP(port, factory, interface="127.0.0.1")
        return self.port.getHost().port

    async def stop(self) -> None:
        """Listen no more, and drop every connection."""
        if self.port is not None:
            await maybeDeferred(self.port.stopListening)
        for connection in self.connections:
            connection.transport.abortConnection()
        self.connections = []


class WebSocketCase(TestCase):
    kind = "xsoverlay"

    def setUp(self) -> None:
        self.server = Server()
        self.port = self.server.listen()
        self.addCleanup(self.server.stop)

    def sink(self) -> Any:
        sink: Any = (
            websocket.xsoverlay(reactor, "Sample & Co", self.port)
            if self.kind == "xsoverlay"
            else websocket.ovrtoolkit(reactor, self.port)
        )
        self.addCleanup(lambda: maybeDeferred(sink.close))
        return sink

    async def there(self, sink: Any) -> None:
        """Start it, and wait for its connection."""
        sink.start()
        self.assertEqual(sink.health(), Health.DOWN)
        await until(lambda: sink.health() == Health.UP)

    async def frames(self, *notifications: Any) -> list[tuple[str, str]]:
        """Deliver these, and give what the server got."""
        sink = self.sink()
        await self.there(sink)
        for notification in notifications:
            sink.deliver(notification)
        await until(lambda: len(self.server.got) == len(notifications))
        return self.server.got


class XSOverlayTests(WebSocketCase, SinkContract):
    async def test_frames(self) -> None:
        """XSOverlay would show all of it."""
        least, full = [xsoverlay(*frame) for frame in await self.frames(LEAST, FULL)]
        self.assertEqual((least.title, least.from_), ("Door", "Sample"))
        self.assertEqual(
            (full.title, full.content, full.seconds, full.has_sound, full.icon),
            (FULL.title, FULL.content, 3.5, True, png()),
        )
        self.assertEqual((full.height, full.opened), (200, None))


class OVRToolkitTests(WebSocketCase, SinkContract):
    kind = "ovrtoolkit"

    async def test_frames(self) -> None:
        """OVR Toolkit would show the title, the text and the image."""
        least, full = [ovrtoolkit(*frame) for frame in await self.frames(LEAST, FULL)]
        self.assertEqual(least, {"title": "Door", "body": ""})
        self.assertEqual(
            full, {"title": FULL.title, "body": FULL.content, "icon": text64(png())}
        )


class LifeTests(WebSocketCase):
    async def test_server_that_comes_later(self) -> None:
        """A sink starts without its server; it is up whenever there is one."""
        events = self.enterContext(capturedLogs())
        await self.server.stop()
        sink = self.sink()
        sink.start()
        self.assertTrue(sink.has_started)
        for times in (1, 2):
            await until(lambda: sink.health() == Health.DOWN)
            self.assertRaises(UnavailableError, sink.deliver, LEAST)
            await until(lambda: sink._client.retries >= times)  # noqa: B023
            self.server.listen(self.port)
            await until(lambda: sink.health() == Health.UP)
            sink.deliver(LEAST)
            await until(lambda: len(self.server.got) == times)  # noqa: B023
            await self.server.stop()
        formats = str([e.get("log_format") for e in events])
        self.assertEqual(formats.count("is up"), 2)
        self.assertNotIn("retry", formats)

    async def test_attack_handshake_without_end(self) -> None:
        """A server that is mute lets the sink end; an endless head is tried later."""
        await self.server.stop()
        with socket.create_server((LOOPBACK, 0)) as server:
            self.port = server.getsockname()[1]
            for head in (b"", b"HTTP/1.1 101 A\r\n" + b"b: c\r\n" * 3000):
                sink = self.sink()
                sink.start()
                await until(lambda: sink._connector.state == "connected")  # noqa: B023
                self.assertEqual(sink.health(), Health.DOWN)
                with server.accept()[0] as connection:
                    connection.sendall(head)
                    await until(lambda: sink._client.retries >= bool(head))  # noqa: B023
                    postponed = sink._client.delay > SINK_RETRY_SECONDS / 3
                    self.assertEqual(postponed, bool(head))
                    await maybeDeferred(sink.close)
                sink._opened(SinkConnection(sink._opened, lambda: 0.0))  # too late
                self.assertEqual(sink._client.continueTrying, 0)

    async def test_a_server_that_accepts_nobody(self) -> None:
        """A sink that still connects ends at once."""
        await self.server.stop()
        with contextlib.ExitStack() as stack:
            full = stack.enter_context(socket.create_server((LOOPBACK, 0), backlog=0))
            self.port = full.getsockname()[1]
            for _ in range(2):
                waiting = stack.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex((LOOPBACK, self.port))
            sink = self.sink()
            sink.start()
            self.assertEqual(sink._connector.state, "connecting")
            await maybeDeferred(sink.close)

    async def test_attack_flooding_server(self) -> None:
        """A server that floods is closed before it costs time, and tried much later."""
        await self.assert_postponed(b"\x01\0" + b"\0\0" * 200_000)

    async def test_attack_server_that_breaks_the_protocol(self) -> None:
        """It is tried much later, also if it has behaved for long, and logs little."""
        for sent in (
            frame(TEXT, b"masked"),
            frame(TEXT, b" " * (SINK_FRAME_BYTES + 1), mask=False),
            frame(TEXT, b"\xff", mask=False),
            frame(CONTINUATION, mask=False),
        ):
            events = self.enterContext(capturedLogs())
            await self.assert_postponed(sent)
            shown = [e["log_format"] for e in events if e["log_level"] > LogLevel.debug]
            self.assertEqual(shown, ["sink {name} is up"])

    async def test_attack_server_that_closes_at_once(self) -> None:
        """It is tried later each time; one that was there for a while, soon again."""
        self.patch(websocket.SinkConnectionFactory, "initialDelay", 0.01)
        self.patch(websocket.SinkConnectionFactory, "delay", 0.01)
        sink = self.sink()
        await self.there(sink)
        for closed in range(1, 4):
            await until(lambda: len(self.server.connections) == closed)  # noqa: B023
            delay = sink._client.delay
            self.server.connections[-1].transport.loseConnection()
            await until(lambda: sink._client.delay != delay)  # noqa: B023
        self.assertGreater(sink._client.delay, 0.05)
        self.patch(limits, "SINK_START_SECONDS", 0)
        await until(lambda: len(self.server.connections) == 4)
        self.server.connections[-1].transport.loseConnection()
        await until(lambda: sink._client.delay < 0.05)

    async def assert_postponed(self, sent: bytes) -> None:
        """Have a server send this, and check that it is tried in about a minute."""
        sink = self.sink()
        await self.there(sink)
        await until(lambda: self.server.connections)
        sink._client.opened = 0.0
        self.server.connections.pop().transport.write(sent)
        await until(lambda: sink.health() == Health.DOWN)
        self.assertRaises(UnavailableError, sink.deliver, LEAST)
        await until(lambda: sink._client.retries == 1)
        self.assertGreater(sink._client.delay, SINK_RETRY_SECONDS / 3)
        self.assertLess(sink._client.delay, SINK_RETRY_SECONDS * 3)

    async def test_an_image_longer_than_what_may_come(self) -> None:
        """What is sent is not held to the limit on what may come, and masked fast."""
        slowly: list[int] = []

        def masker(mask: bytes, length: int) -> Any:
            slowly.append(length)
            return create_xor_masker(mask, length)

        self.patch(protocol, "create_xor_masker", masker)
        image = text64(png() + os.urandom(90_000))
        self.assertGreater(len(image), SINK_FRAME_BYTES)
        for kind in ("xsoverlay", "ovrtoolkit"):
            self.kind = kind
            ((_, text),) = await self.frames(evolve(LEAST, image=image))
            self.assertIn(image, text.replace("\\", ""))
            # The server's own, which unmasks.
            self.assertEqual([n for n in slowly if n > SINK_FRAME_BYTES], [len(text)])
            slowly.clear()
            self.server.got.clear()

    async def test_attack_server_that_does_not_read(self) -> None:
        """What nobody reads does not pile up, nor keep the sink from ending."""
        sink = self.sink()
        await self.there(sink)
        await until(lambda: self.server.connections)
        self.server.connections[0].transport.pauseProducing()

        def fill() -> None:
            for _ in range(10_000):
                sink.deliver(FULL)

        self.assertRaises(UnavailableError, fill)
        await maybeDeferred(sink.close)


class PortTests(SynchronousTestCase):
    def test_ports(self) -> None:
        """XSOverlay is on 42070, OVR Toolkit on 11450."""
        self.assertEqual(websocket.xsoverlay(reactor, "Sample").port, 42070)
        self.assertEqual(websocket.ovrtoolkit(reactor).port, 11450)


class ConnectionTests(SynchronousTestCase):
    def test_it_reads_again(self) -> None:
        """A slow reader that catches up is delivered to again."""
        connection = SinkConnection(lambda _: None, lambda: 0.0)
        connection.pauseProducing()
        self.assertTrue(connection.is_paused)
        connection.resumeProducing()
        self.assertFalse(connection.is_paused)
        connection.stopProducing()
