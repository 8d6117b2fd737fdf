"""Clones from servers that take their time, and clones that are stopped."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from .clones import CloneTestCase


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

    def test_dribble(self) -> None:
        """A server that sends a byte now and then is cut off at the deadline."""
        url, ca_file = self.slow(1000)
        started = time.monotonic()
        message = self.refusal(url, self.cloner(ca_file, seconds=1.0))
        self.assertEqual(message, "clone_failed: not finished within 1 seconds")
        self.assertLess(
            time.monotonic() - started, 20
        )  # the server would go on for 100

    def test_stall(self) -> None:
        """A server that goes silent is cut off at the deadline."""
        url, ca_file = self.slow(0)
        message = self.refusal(url, self.cloner(ca_file, seconds=0.5))
        self.assertIn("not finished within 0.5 seconds", message)

    def test_no_handshake(self) -> None:
        """A server that never answers the handshake is cut off at the deadline."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            url = f"https://127.0.0.1:{listening.getsockname()[1]}/x.git"
            message = self.refusal(url, self.cloner(seconds=0.5))
        self.assertIn("not finished within 0.5 seconds", message)

    def test_no_connection(self) -> None:
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
            message = self.refusal(url, self.cloner(seconds=0.5))
            for waiting in held:
                waiting.close()
        self.assertIn("not finished within 0.5 seconds", message)

    def test_stopped(self) -> None:
        """Another thread ends a clone within a second."""
        url, ca_file = self.slow(1000)
        timer = threading.Timer(0.3, self.stop.set)
        timer.start()
        started = time.monotonic()
        message = self.refusal(url, self.cloner(ca_file))
        timer.join()
        self.assertEqual(message, "clone_failed: stopped before it was finished")
        self.assertLess(time.monotonic() - started, 20)  # its own deadline is later

    def test_stopped_before(self) -> None:
        """A clone that is stopped before it starts does not start."""
        self.stop.set()
        message = self.refusal(self.forge.url("x"))
        self.assertIn("stopped before it was finished", message)

    def test_broken_off(self) -> None:
        """A connection that is closed early is named as such."""
        server = self.rogue(lambda line, body: [])
        message = self.refusal(server.url, self.cloner(server.ca_file))
        self.assertEqual(message, "clone_failed: the connection broke off")
