"""The HTTP edge of a real daemon: framing, refusals and floods over TCP."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import CONNECTIONS_WAITING, REST_BODY_BYTES

from ..directories import fresh_directory
from ..web.stack import Answer, Header, read_answer, write_request
from ..web.test_request import ALWAYS
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


@pytest.mark.whole
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

    def test_refusals_do_not_wait_for_the_body(self) -> None:
        """Each is answered while nothing of the body has been sent."""
        with running(self.home, "--dev", "--rate=1000", "--burst=1000") as daemon:
            bearer = ("Authorization", f"Bearer {daemon.token}")
            small = ("Content-Length", "100")
            big = ("Content-Length", str(REST_BODY_BYTES + 1))
            chunked = ("Transfer-Encoding", "chunked")
            for headers, status, code in (
                ((EVIL, bearer, JSON, small), 403, "forbidden_origin"),
                ((EVIL, chunked), 403, "forbidden_origin"),
                ((JSON, small), 401, "unauthorized"),
                ((bearer, small), 415, "unsupported_media_type"),
                ((bearer, JSON, big), 413, "payload_too_large"),
            ):
                received = exchange(daemon, head(daemon, "POST", CALL, *headers))
                self.assertRefused(received, status, code)

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

    def test_no_http(self) -> None:
        """What is no HTTP is answered in JSON, and the connection ends."""
        with running(self.home) as daemon:
            for raw, status, code in (
                (b"GET /v1/health\r\n\r\n", 400, "bad_request"),
                (b"\x16\x03\x01\x02\x00\x01\xfc\x03\r\n", 400, "bad_request"),
                (b"GET /" + b"a" * 20_000, 414, "uri_too_long"),
                (b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000, 431, "head_too_large"),
            ):
                self.assertRefused(exchange(daemon, raw), status, code)

    def test_attack_request_smuggling(self) -> None:
        """A second request inside the first one's body is never answered."""
        with running(self.home, "--dev") as daemon:
            bearer = ("Authorization", f"Bearer {daemon.token}")
            smuggling = head(
                daemon,
                "POST",
                CALL,
                bearer,
                JSON,
                ("Content-Length", "5"),
                ("Transfer-Encoding", "chunked"),
            )
            inner = head(daemon, "GET", "/v1/describe", bearer)
            received = exchange(daemon, smuggling + b"0\r\n\r\n" + inner)
            self.assertRefused(received, 400, "bad_request")

    def test_rate_on_the_upgrade(self) -> None:
        """An upgrade over the rate is 429 in words, with ``Retry-After``."""
        with running(self.home, "--rate=0.1", "--burst=1") as daemon:
            daemon.http("GET", "/v1/health")
            upgrade = head(
                daemon,
                "GET",
                "/v1/ws",
                ("Upgrade", "websocket"),
                ("Connection", "Upgrade, close"),
                ("Sec-WebSocket-Version", "13"),
                ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            )
            received = exchange(daemon, upgrade)
            self.assertTrue(received.startswith(b"HTTP/1.1 429 Too Many Requests\r\n"))
            answer = self.assertRefused(received, 429, "rate_limited")
            self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)

    def test_attack_idle_connections(self) -> None:
        """64 pages and 500 connections that send nothing leave the next one served."""
        options = "--rate=1000", "--burst=1000"
        with running(self.home, *options) as daemon, contextlib.ExitStack() as held:
            pages = [held.enter_context(daemon.page()) for _ in range(64)]
            for number in range(500):
                connection = held.enter_context(connected(daemon))
                if number % 2:
                    connection.sendall(b"GET /v1/health HTTP/1.1\r\nX:")
            status, _, body = daemon.http("GET", "/v1/health")
            self.assertEqual((status, body["ok"]), (200, True))
            for page in pages[::16]:
                self.assertEqual(
                    page.result("state", "list", {"ns": "x"}), {"entries": {}}
                )
            descriptors = list(Path(f"/proc/{daemon.process.pid}/fd").iterdir())
            self.assertLess(len(descriptors), 64 + CONNECTIONS_WAITING + 50)
