"""Clones from servers that take their time, and clones that are stopped."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

from twisted.internet import reactor
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater

from bridge.plugins.clone import repositories

from ...waiting import until
from .clones import CloneTestCase
from .packs import commit, tree


class SlowServerTests(CloneTestCase):
    def slow(self, pieces: int, seconds: float) -> Deferred[str]:
        """Clone from a server whose answer comes in pieces, 0.1 s apart."""

        def script(line: str, body: bytes) -> Iterator[bytes]:
            yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
            for _ in range(pieces):
                yield b"X"
                server.pause(0.1)
            server.pause(60)

        server = self.rogue(script)
        return self.cloning(server.url, self.cloner(server.ca_file, seconds=seconds))

    def listening(self, backlog: int | None = None) -> str:
        """The URL of a server that accepts no connection, or answers none."""
        server = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        self.addCleanup(server.close)
        for _ in range(4 if backlog == 0 else 0):
            waiting = socket.socket()
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
            self.addCleanup(waiting.close)
        return f"https://127.0.0.1:{server.getsockname()[1]}/x.git"

    async def test_attack_deadline(self) -> None:
        """A server that sends nothing, or a byte now and then, is cut off."""
        for cloning in (
            self.slow(1000, 0.5),
            self.slow(0, 0.5),
            self.cloning(self.listening(), self.cloner(seconds=0.5)),
            self.cloning(self.listening(0), self.cloner(seconds=0.5)),
        ):
            started = time.monotonic()
            message = await self.refusal_of(cloning)
            self.assertEqual(message, "clone_failed: not finished within 0.5 seconds")
            # The server would go on for 100.
            self.assertLess(time.monotonic() - started, 20)

    async def assert_ends(self, cloning: Deferred[str]) -> None:
        """Cancel a clone that is under way: it ends at once, and leaves nothing."""
        self.assertNoResult(cloning)
        started = time.monotonic()
        cloning.cancel()
        await self.assertFailure(cloning, CancelledError)
        self.assertLess(time.monotonic() - started, 1)
        self.assertFalse(self.into.exists())

    async def test_cancelled_at_every_step(self) -> None:
        """A clone is ended while it waits for TCP, TLS, a head, and a body."""
        for begin in (
            lambda: self.cloning(self.listening(0)),
            lambda: self.cloning(self.listening()),
            lambda: self.slow(0, 60),
            lambda: self.slow(1000, 60),
        ):
            cloning = begin()
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
        cloning = self.cloning(self.publish(tree(), commit(tree())))
        await until(begun.is_set)
        await self.assert_ends(cloning)
        ended = len(checks)
        await deferLater(reactor, 0.15)
        self.assertEqual(len(checks), ended)
