"""Tests for bridge.cli.asking.httprequest."""

from __future__ import annotations

import os
import signal
import socket
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from treq.client import HTTPClient
from twisted.internet.selectreactor import SelectReactor
from twisted.trial.unittest import SynchronousTestCase

from bridge.cli.asking.httprequest import (
    BrokenOffError,
    NobodyListensError,
    get,
    post,
)
from bridge.settings.values import Address, UnixAddress

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
PATIENCE_SECONDS = 10.0


class AskingTests(SynchronousTestCase):
    """Requests to a server of one connection."""

    def setUp(self) -> None:
        """Note what is received."""
        self.received = b""
        self.body = b"{}"

    def serve(self, server: socket.socket, answer: bytes) -> None:
        """Answer one request, in a thread."""
        server.settimeout(PATIENCE_SECONDS)

        def run() -> None:
            with server, server.accept()[0] as connection:
                connection.settimeout(PATIENCE_SECONDS)
                while b"\r\n\r\n" + self.body not in self.received:
                    self.received += connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)

    def listening(self, family: int, host: str) -> tuple[socket.socket, Address]:
        """Listen on a free port."""
        server = socket.create_server((host, 0), family=family)
        return server, Address(host, server.getsockname()[1])

    def ask(self, address: Address | UnixAddress) -> tuple[int, bytes]:
        """Post an empty object."""
        headers = {"Content-Type": "application/json"}
        return post(address, "/v1/a/b", b"{}", headers, PATIENCE_SECONDS)

    def test_addresses(self) -> None:
        """Each kind of address is asked, by a name that the daemon has."""
        for family, host in (
            (socket.AF_INET, "127.0.0.1"),
            (socket.AF_INET6, "::1"),
        ):
            self.received = b""
            server, address = self.listening(family, host)
            self.serve(server, ANSWER)
            self.assertEqual(self.ask(address), (200, b"{}"))
            name = b"host: localhost:%d\r\n" % address.port
            self.assertIn(name, self.received.lower())
            self.assertTrue(self.received.startswith(b"POST /v1/a/b HTTP/1.1\r\n"))

    def test_unix_socket(self) -> None:
        """So is the path of a socket."""
        with TemporaryDirectory() as directory:
            path = str(Path(directory) / "socket")
            server = socket.socket(socket.AF_UNIX)
            server.bind(path)
            server.listen()
            self.serve(server, ANSWER)
            self.assertEqual(self.ask(UnixAddress(path)), (200, b"{}"))
            with self.assertRaises(NobodyListensError):
                self.ask(UnixAddress(f"{path}-not"))

    def test_treq_asks(self) -> None:
        """It is a request of treq's client, which follows nothing."""
        server, address = self.listening(socket.AF_INET, "127.0.0.1")
        self.serve(server, ANSWER.replace(b"200 OK", b"302 Found\r\nLocation: /x"))
        with mock.patch.object(
            HTTPClient, "request", autospec=True, side_effect=HTTPClient.request
        ) as made:
            self.assertEqual(self.ask(address), (302, b"{}"))
        self.assertEqual(made.call_count, 1)

    def test_nobody(self) -> None:
        """A port nobody listens on is not reported as an answer that breaks off."""
        server, address = self.listening(socket.AF_INET, "127.0.0.1")
        server.close()
        self.assertRaises(NobodyListensError, self.ask, address)
        for answer in (
            b"",
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
            b"x\r\n",
        ):
            self.received = b""
            server, address = self.listening(socket.AF_INET, "127.0.0.1")
            self.serve(server, answer)
            self.assertRaises(BrokenOffError, self.ask, address)

    def test_interrupted(self) -> None:
        """Ctrl-C ends the waiting, and a later request can be made."""
        # A reactor that ran before has left its own handler.
        previous = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, previous)
        server, address = self.listening(socket.AF_INET, "127.0.0.1")
        with server:
            timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            self.assertRaises(KeyboardInterrupt, self.ask, address)
            timer.join()
        self.test_treq_asks()

    def get(self, answer: bytes, seconds: float = PATIENCE_SECONDS) -> object:
        """Get a short answer."""
        self.received, self.body = b"", b""
        server, address = self.listening(socket.AF_INET, "127.0.0.1")
        self.serve(server, answer)
        return get(address, "/v1/health", seconds, limit=2)

    def test_get(self) -> None:
        """Without a body, and without the token."""
        self.assertEqual(self.get(ANSWER), (200, b"{}"))
        self.assertTrue(self.received.startswith(b"GET /v1/health HTTP/1.1\r\n"))
        self.assertNotIn(b"authorization", self.received.lower())

    def test_attack_long_answer(self) -> None:
        """Another program on the port does not fill the memory of ``doctor``."""
        for answer in (
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{ }",
            b"HTTP/1.1 200 OK\r\n\r\n{ }",
        ):
            self.assertRaises(BrokenOffError, self.get, answer)

    def test_attack_connecting_for_ever(self) -> None:
        """A program that accepts nobody ends the request, and does not hang it."""
        server = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.addCleanup(server.close)
        address = Address("127.0.0.1", server.getsockname()[1])
        # More would wait in vain until the ones before them are accepted.
        for _ in range(2):
            full = socket.socket()
            self.addCleanup(full.close)
            full.setblocking(False)
            full.connect_ex(server.getsockname())
        iterate = SelectReactor.doIteration

        def bounded(reactor: SelectReactor, seconds: float | None) -> None:
            self.assertIsNotNone(seconds, "it would wait for ever")
            iterate(reactor, seconds)

        with mock.patch.object(SelectReactor, "doIteration", bounded):
            self.assertRaises(NobodyListensError, get, address, "/", 0.2, 100)

    def test_attack_slow_answer(self) -> None:
        """Another program on the port does not keep ``doctor`` waiting."""
        for start in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{"):
            server, address = self.listening(socket.AF_INET, "127.0.0.1")
            seen = threading.Event()
            answering = threading.Thread(target=self._start, args=(server, start, seen))
            answering.start()
            with server:
                self.assertRaises(BrokenOffError, get, address, "/", 0.3, 2)
                seen.set()
                answering.join()

    def _start(
        self, server: socket.socket, start: bytes, seen: threading.Event
    ) -> None:
        """Send the start of an answer, and never its end."""
        with server.accept()[0] as connection:
            connection.sendall(start)
            seen.wait(PATIENCE_SECONDS)
