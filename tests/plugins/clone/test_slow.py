"""Clones from servers that take their time, and clones that are stopped."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from twisted.internet import reactor
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater

from bridge.plugins.clone import repositories

from ...waiting import until
from .clones import CloneTestCase
from .packs import commit, make_repository, tree


class SlowServerTests(CloneTestCase):
    """Servers that keep a clone waiting."""

    def slow(self, pieces: int) -> tuple[str, Path]:
        """A server whose answer comes in pieces, 0.1 s apart."""

        def script(line: str, body: bytes) -> Iterator[bytes]:
            yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
            for _ in range(pieces):
                yield b"X"
                server.pause(0.1)
            server.pause(60)

        server = self.rogue(script)
        return server.url, server.ca_file

    async def test_dribble(self) -> None:
        """A server that sends a byte now and then is cut off at the deadline."""
        url, ca_file = self.slow(1000)
        started = time.monotonic()
        message = await self.refusal(url, self.cloner(ca_file, seconds=1.0))
        self.assertEqual(message, "clone_failed: not finished within 1 seconds")
        self.assertLess(
            time.monotonic() - started, 20
        )  # the server would go on for 100

    async def test_stall(self) -> None:
        """A server that goes silent is cut off at the deadline."""
        url, ca_file = self.slow(0)
        message = await self.refusal(url, self.cloner(ca_file, seconds=0.5))
        self.assertIn("not finished within 0.5 seconds", message)

    async def test_no_handshake(self) -> None:
        """A server that never answers the handshake is cut off at the deadline."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            url = f"https://127.0.0.1:{listening.getsockname()[1]}/x.git"
            message = await self.refusal(url, self.cloner(seconds=0.5))
        self.assertIn("not finished within 0.5 seconds", message)

    async def test_no_connection(self) -> None:
        """A host that never takes the connection is cut off at the deadline."""
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
            address = listening.getsockname()
            held = []
            for _ in range(4):
                waiting = socket.socket()
                waiting.setblocking(False)
                waiting.connect_ex(address)
                held.append(waiting)
            url = f"https://127.0.0.1:{address[1]}/x.git"
            message = await self.refusal(url, self.cloner(seconds=0.5))
            for waiting in held:
                waiting.close()
        self.assertIn("not finished within 0.5 seconds", message)

    async def assert_ends(self, cloning: Deferred[str]) -> None:
        """Cancel a clone that is under way: it ends at once, and leaves nothing."""
        self.assertNoResult(cloning)
        started = time.monotonic()
        cloning.cancel()
        await self.assertFailure(cloning, CancelledError)
        self.assertLess(time.monotonic() - started, 1)
        self.assertFalse(self.into.exists())

    async def test_cancelled_at_every_step(self) -> None:
        """A clone is ended while it waits for a name, TLS, a head, and a body."""
        self.patch(self, "look_up", lambda host: Deferred())
        await self.assert_ends(self.cloning("https://forge.example/x.git"))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            cloning = self.cloning(
                f"https://127.0.0.1:{listening.getsockname()[1]}/x.git"
            )
            await deferLater(reactor, 0.1)
            await self.assert_ends(cloning)
        for pieces in (0, 1000):
            url, ca_file = self.slow(pieces)
            cloning = self.cloning(url, self.cloner(ca_file))
            await deferLater(reactor, 0.4)
            await self.assert_ends(cloning)

    async def test_cancelled_while_unpacking(self) -> None:
        """Nothing writes any more when a cancelled clone has ended."""
        begun = threading.Event()
        checks: list[bool] = []

        def unpack(pack: bytes, limits: object, check: Callable[[], None]) -> None:
            begun.set()
            while True:
                checks.append(True)
                time.sleep(0.05)
                check()

        self.patch(repositories, "unpack", unpack)
        name = f"slow-{os.urandom(6).hex()}"
        make_repository(self.forge.root, name, [commit(tree()), tree()][::-1])
        cloning = self.cloning(self.forge.url(name))
        await until(begun.is_set)
        await self.assert_ends(cloning)
        ended = len(checks)
        await deferLater(reactor, 0.15)
        self.assertEqual(len(checks), ended)

    async def test_broken_off(self) -> None:
        """A connection that is closed early is named as such."""
        server = self.rogue(lambda line, body: [])
        message = await self.refusal(server.url, self.cloner(server.ca_file))
        self.assertIn("clone_failed: ", message)
        self.assertIn("broke off", message)
