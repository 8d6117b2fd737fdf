"""The HTTP edge of a real daemon: framing, refusals and floods over TCP."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import REST_BODY_BYTES

from ..directories import fresh_directory
from ..web.stack import Answer, Header, read_answer, write_request
from ..web.test_requestscontract import ALWAYS
from .daemon import PATIENCE_SECONDS, Daemon, running

CALL = "/v1/state/list"
JSON = ("Content-Type", "application/json")
EVIL = ("Origin", "https://evil.example")


@contextlib.contextmanager
def connected(daemon: Daemon) -> Iterator[socket.socket]:
    """Open a connection for raw bytes."""
    address = ("127.0.0.1", daemon.port)
    with socket.create_connection(address, timeout=PATIENCE_SECONDS) as connection:
        yield connection


def read_to_end(connection: socket.socket) -> bytes:
    """Read until the daemon closes."""
    received = b""
    while piece := connection.recv(65536):
        received += piece
    return received


def exchange(daemon: Daemon, *pieces: bytes) -> bytes:
    """Send everything, then read to the end, as a simple client does."""
    with connected(daemon) as connection:
        for piece in pieces:
            connection.sendall(piece)
        return read_to_end(connection)


def head(daemon: Daemon, method: str, path: str, *headers: Header) -> bytes:
    """Write a head for the daemon's own name."""
    return write_request(method, path, headers, host=f"127.0.0.1:{daemon.port}")


class EdgeTests(SynchronousTestCase):
    """Tests with one daemon for each."""

    def setUp(self) -> None:
        """A home."""
        self.home = fresh_directory(self)

    def assertRefused(self, received: bytes, status: int, code: str) -> Answer:
        """Expect one refusal, in the one form."""
        self.assertEqual(received.count(b"HTTP/1.1 "), 1, received[:500])
        answer = read_answer(received)
        self.assertEqual((answer.status, answer.code), (status, code))
        for name, value in ALWAYS.items():
            self.assertEqual(answer.headers[name], value)
        return answer

    def test_large_refused_body_does_not_hide_the_answer(self) -> None:
        """Who sends all of a refused body first still reads why it was refused."""
        with running(self.home, "--dev") as daemon:
            length = ("Content-Length", str(REST_BODY_BYTES + 1))
            bearer = ("Authorization", f"Bearer {daemon.token}")
            body = b"x" * (REST_BODY_BYTES + 1)
            call = head(daemon, "POST", CALL, bearer, JSON, length)
            self.assertRefused(exchange(daemon, call, body), 413, "payload_too_large")

    def test_half_closed(self) -> None:
        """Who ends its side when all is sent, as netcats do, still reads the answer."""
        with running(self.home, "--dev", "--rate=1000", "--burst=1000") as daemon:
            bearer = ("Authorization", f"Bearer {daemon.token}")
            params = b'{"code": "1", "timeoutMs": 300}'
            length = ("Content-Length", str(len(params)))
            asked = head(daemon, "POST", "/v1/remote/eval", bearer, JSON, length)
            health = head(daemon, "GET", "/v1/health")
            cut = head(daemon, "POST", CALL, bearer, JSON, length)
            with daemon.page():
                for sent, status in ((health, 200), (asked + params, 503), (cut, None)):
                    with connected(daemon) as connection:
                        connection.sendall(sent)
                        connection.shutdown(socket.SHUT_WR)
                        received = read_to_end(connection)
                    got = read_answer(received).status if received else None
                    self.assertEqual(got, status)
