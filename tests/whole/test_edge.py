"""The edge of real daemons, over TCP: the contracts of tests/web, and the rates."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import REST_BODY_BYTES

from ..directories import fresh_directory
from ..rawsocket import RawSocket, text
from ..web.stack import PORT, TOKEN, Answer, Header, read_answer, write_request
from ..web.test_framescontract import FramesContract
from ..web.test_requestscontract import RequestsContract
from .daemon import PATIENCE_SECONDS, Daemon, running

FREELY = ("--rate=1000000", "--burst=1000000")
CALL = "/v1/state/list"
EVIL = ("Origin", "https://evil.example")
DELETE = {"type": "request", "service": "state", "method": "delete"}


def read_to_end(connection: socket.socket) -> bytes:
    """Read until the daemon closes."""
    received = b""
    while piece := connection.recv(65536):
        received += piece
    return received


def exchange(port: int, *pieces: bytes) -> bytes:
    """Send everything, then read to the end, as a simple client does."""
    address = ("127.0.0.1", port)
    with socket.create_connection(address, timeout=PATIENCE_SECONDS) as connection:
        for piece in pieces:
            connection.sendall(piece)
        return read_to_end(connection)


def ask(
    daemon: Daemon, method: str, path: str, *headers: Header, body: bytes = b""
) -> Answer:
    """Make one request; its body is no part of what the head says."""
    head = write_request(method, path, headers, host=f"127.0.0.1:{daemon.port}")
    return read_answer(exchange(daemon.port, head, body), method)


class FramesByTcp(FramesContract):
    """The contract of frames with a daemon, which is set."""

    daemon: Daemon

    def open(self, *, early: bytes = b"") -> RawSocket:
        """See ``FramesContract``."""
        return RawSocket(self.daemon.port, early=early)


class RequestsByTcp(RequestsContract):
    """The contract of requests with two daemons, which are set."""

    plain: Daemon
    dev: Daemon

    def exchange(self, sent: bytes, dev: bool) -> bytes:
        """See ``RequestsContract``; the rows have the port and token of memory."""
        asked = self.dev if dev else self.plain
        sent = sent.replace(f":{PORT}".encode(), f":{asked.port}".encode())
        return exchange(asked.port, sent.replace(TOKEN.encode(), asked.token.encode()))


class ContractTests(SynchronousTestCase):
    """Each row is answered as in memory, and the daemon's log has no defect."""

    @contextlib.contextmanager
    def daemon(self, *options: str) -> Iterator[Daemon]:
        """Run a daemon without a rate."""
        with running(fresh_directory(self), *FREELY, *options) as daemon:
            yield daemon
        for wrong in ("Traceback", "Unhandled", "broke"):
            self.assertNotIn(wrong, "".join(daemon.lines))

    def check(self, contract: type, **fields: Any) -> None:
        """Run every test of a contract, with these attributes."""
        rows: Any = type("Rows", (contract, SynchronousTestCase), fields)
        for name in dir(contract):
            if name.startswith("test_"):
                with self.subTest(name):
                    getattr(rows(name), name)()

    def test_frames(self) -> None:
        """Frames, after a hello and before it."""
        with self.daemon() as daemon:
            self.check(FramesByTcp, daemon=daemon, token=daemon.token)

    def test_requests(self) -> None:
        """Requests, with ``--dev`` and without it."""
        with self.daemon() as plain, self.daemon("--dev") as dev:
            self.check(RequestsByTcp, plain=plain, dev=dev)
            self.large_body(dev)

    def large_body(self, daemon: Daemon) -> None:
        """Who sends all of a refused body first still reads why it was refused."""
        size = REST_BODY_BYTES + 1
        headers = (
            ("Content-Length", str(size)),
            ("Authorization", f"Bearer {daemon.token}"),
            ("Content-Type", "application/json"),
        )
        answer = ask(daemon, "POST", CALL, *headers, body=b"x" * size)
        self.assertEqual((answer.status, answer.code), (413, "payload_too_large"))


class RateTests(SynchronousTestCase):
    """A daemon that lets two requests through, and one each minute."""

    def test_over_the_rate(self) -> None:
        """Refused is what is over it, with when to come again; see each step."""
        options = "--rate=0.017", "--burst=2"
        with running(fresh_directory(self), *options) as daemon:
            self.on_a_socket(daemon)
            self.of_another_site(daemon)
            self.by_a_program(daemon)

    def on_a_socket(self, daemon: Daemon) -> None:
        """What can't begin within three seconds is refused."""
        with RawSocket(daemon.port) as raw:
            raw.hello(daemon.token)
            for number in "0123":
                params = {"ns": "x", "key": "k"}
                raw.send(text({**DELETE, "id": number, "params": params}))
            got = {answer["id"]: answer for answer in (raw.answer() for _ in range(4))}
        self.assertEqual([got[n]["ok"] for n in "0123"], [True, True, False, False])
        for late in "23":
            error = got[late]["error"]
            self.assertEqual(error["code"], "rate_limited")
            self.assertGreaterEqual(error["retryAfter"], 1)

    def of_another_site(self, daemon: Daemon) -> None:
        """Others pay nothing for a flood of another site."""
        answers = [ask(daemon, "GET", "/v1/health", EVIL) for _ in range(4)]
        self.assertEqual([one.status for one in answers], [403, 403, 429, 429])
        self.assertEqual(ask(daemon, "GET", "/v1/health").status, 200)

    def by_a_program(self, daemon: Daemon) -> None:
        """An upgrade and a probe were all; preflights are refused, too."""
        for method, path in (
            ("GET", "/v1/health"),
            ("OPTIONS", CALL),
            ("GET", "/v1/ws"),
        ):
            answer = ask(daemon, method, path)
            self.assertEqual((answer.status, answer.code), (429, "rate_limited"))
            self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)
