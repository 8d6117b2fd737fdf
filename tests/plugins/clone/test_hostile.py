"""Clones from servers that git would not be, or that take their time."""

import os
import socket
import time
from collections.abc import Iterator
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater

from bridge.datadir import paths
from bridge.protocol import limits
from bridge.protocol.errors import forget_traceback

from ...forge import serve_pack
from ...waiting import until
from .clones import CloneTestCase
from .packs import FILE, blob, commit, make_pack, packed, tree

CONTENT = blob(b"/etc/passwd")


class HostileTests(CloneTestCase):
    """
    One of each; every name and limit is tested where its rule is.

    A whole daemon meets bombs in ``tests.e2e.test_hostile``.
    """

    async def test_attack_too_much(self) -> None:
        """The limits of a clone hold for what a server sends."""
        made = [blob(os.urandom(20_000)) for _ in range(20)]
        root = tree(*[(FILE, b"%02d" % number, one) for number, one in enumerate(made)])
        url = self.publish(*made, root, commit(root))
        self.patch(limits, "TREE_FILES", 19)
        changed: Any
        for changed, words in (
            ({"objects": 21}, "more than 21 objects"),
            ({"received_bytes": 200_000}, "more than 200000 bytes received"),
            ({}, "more than 19 files"),
        ):
            message = await self.refusal(url, self.cloner(**changed))
            self.assertEqual(message, f"clone_failed: {words}")

    async def test_attack_too_much_without_a_length(self) -> None:
        """A response without a length that was cut off at the limit says so."""
        root = tree((FILE, b"x", CONTENT))
        tip = commit(root)
        pack = make_pack(*map(packed, (tip, root, blob(os.urandom(300_000)))))

        def script(first: str, body: bytes) -> Iterator[bytes]:
            name = b"Content-Length" if first.startswith("GET") else b"X-Length"
            for part in serve_pack(pack, tip.name.hex())(first, body):
                yield part.replace(b"Content-Length", name)

        server = self.rogue(script)
        cloner = self.cloner(server.ca_file, received_bytes=100_000)
        message = await self.refusal(server.url, cloner)
        self.assertEqual(message, "clone_failed: more than 100000 bytes received")

    async def test_attack_packs(self) -> None:
        """A pack has to hold the commit that was announced, and its files."""
        root = tree((FILE, b"x", CONTENT))
        tip = commit(root)
        for objects, name in (
            ((tip,), tip.name.hex()),
            ((tip, root, CONTENT), "ab" * 20),
        ):
            pack = make_pack(*map(packed, objects))
            server = self.rogue(serve_pack(pack, name))
            message = await self.refusal(server.url, self.cloner(server.ca_file))
            self.assertIn("an object is missing", message)


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
        made = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        server = self.enterContext(made)
        for _ in range(4 if backlog == 0 else 0):
            waiting = self.enterContext(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
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

    async def assert_ends(self, cloning: Deferred[Any]) -> None:
        """Cancel a clone that is under way: it ends at once, and leaves nothing."""
        self.assertNoResult(cloning)
        started = time.monotonic()
        cloning.cancel()
        forget_traceback(await self.assertFailure(cloning, CancelledError))
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

    async def test_cancelled_while_writing(self) -> None:
        """It ends at the next file, and nothing writes any more when it has ended."""
        written: list[object] = []

        def write(place: object, content: object) -> None:
            written.append(place)
            time.sleep(0.05)

        self.patch(paths, "write_file", write)
        files = tree(*((FILE, b"%d" % n, blob(b"")) for n in range(30)))
        cloning = self.cloning(self.publish(blob(b""), files, commit(files)))
        await until(lambda: written)
        await self.assert_ends(cloning)
        ended = len(written)
        await deferLater(reactor, 0.15)
        self.assertEqual(len(written), ended)
