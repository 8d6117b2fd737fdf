"""The edge of real daemons, over TCP: the contracts of tests/web, and the rates."""

import contextlib
import socket
from collections.abc import Iterator
from operator import itemgetter

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import REST_BODY_BYTES

from ..directories import fresh_directory
from ..rawsocket import RawSocket, text
from ..web.stack import JSON, PORT, TOKEN, Answer, Header, read_answer, write_request
from ..web.test_framescontract import FramesContract
from ..web.test_requestscontract import RequestsContract
from .daemon import PATIENCE_SECONDS, Daemon, HomeCase, running

FREELY = ("--rate=1000000", "--burst=1000000")
CALL = "/v1/state/list"
DELETE = {
    "type": "request",
    "service": "state",
    "method": "delete",
    "params": {"ns": "x", "key": "k"},
}


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

    def open(self, *, early: bytes = b"") -> RawSocket:
        return RawSocket(self.daemon.port, early=early)


class RequestsByTcp(RequestsContract):
    """The contract of requests with two daemons, which are set."""

    def exchange(self, sent: bytes, dev: bool) -> bytes:
        """See ``RequestsContract``; the rows have the port and token of memory."""
        asked = self.dev if dev else self.plain
        sent = sent.replace(f":{PORT}".encode(), f":{asked.port}".encode())
        return exchange(asked.port, sent.replace(TOKEN.encode(), asked.token.encode()))


class ContractTests(SynchronousTestCase):
    """Each row is answered as in memory, and the daemon's log has no defect."""

    @contextlib.contextmanager
    def daemon(self, *options: str) -> Iterator[Daemon]:
        with running(fresh_directory(self), *FREELY, *options) as daemon:
            yield daemon
        for wrong in ("Traceback", "Unhandled", "broke"):
            self.assertNotIn(wrong, "".join(daemon.lines))

    def check(self, contract: type, **fields) -> None:
        """Run every test of a contract, with these attributes."""
        rows = type("Rows", (contract, SynchronousTestCase), fields)
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
            # Who sends all of a refused body first still reads why it was refused.
            size = REST_BODY_BYTES + 1
            bearer = ("Authorization", f"Bearer {dev.token}")
            headers = (bearer, JSON, ("Content-Length", str(size)))
            answer = ask(dev, "POST", CALL, *headers, body=b"x" * size)
        self.assertEqual((answer.status, answer.code), (413, "payload_too_large"))


class RateTests(HomeCase):
    """A daemon that lets two requests through, and one each minute."""

    def test_over_the_rate(self) -> None:
        """Refused is what is over it, with when to come again."""
        options = "--rate=0.017", "--burst=2"
        with running(self.home, *options) as daemon:
            with RawSocket(daemon.port) as raw:
                raw.hello(daemon.token)
                for number in "0123":
                    raw.send(text({**DELETE, "id": number}))
                answers = sorted((raw.answer() for _ in range(4)), key=itemgetter("id"))
                # Pages wait for it no longer than it may take by itself.
                look = {**DELETE, "service": "plugins", "method": "check_updates"}
                raw.send(text({**look, "id": "4", "params": {}}))
                self.assertTrue(raw.answer()["ok"])
            # What can begin within three seconds is not refused.
            self.assertEqual([one["ok"] for one in answers], [True, True, False, False])
            for late in answers[2:]:
                self.assertEqual(late["error"]["code"], "rate_limited")
                self.assertGreaterEqual(late["error"]["retryAfter"], 1)
            # The upgrade and this are all that others get.
            statuses = [ask(daemon, "GET", "/v1/health").status for _ in range(2)]
            self.assertEqual(statuses, [200, 429])
