"""The contracts of tests/web, over TCP, with real daemons."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

from twisted.trial.unittest import SynchronousTestCase

from ..directories import fresh_directory
from ..rawsocket import RawSocket
from ..web.stack import PORT, TOKEN
from ..web.test_framescontract import FramesContract
from ..web.test_requestscontract import RequestsContract
from .daemon import PATIENCE_SECONDS, Daemon, running

FREELY = ("--rate=1000000", "--burst=1000000")


def exchange(daemon: Daemon, sent: bytes) -> bytes:
    """Send bytes, and read to the end."""
    address = ("127.0.0.1", daemon.port)
    received = b""
    with socket.create_connection(address, timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(sent)
        while piece := connection.recv(65536):
            received += piece
    return received


class ContractTests(SynchronousTestCase):
    """Each row is answered as in memory, and the daemon's log has no defect."""

    @contextlib.contextmanager
    def daemon(self, *options: str) -> Iterator[Daemon]:
        """Run a daemon without a rate."""
        with running(fresh_directory(self), *FREELY, *options) as daemon:
            yield daemon
        for wrong in ("Traceback", "Unhandled", "broke"):
            self.assertNotIn(wrong, "".join(daemon.lines))

    def check(self, contract: type, rows: type[SynchronousTestCase]) -> None:
        """Run every test of a contract."""
        for name in dir(contract):
            if name.startswith("test_"):
                with self.subTest(name):
                    getattr(rows(name), name)()

    def test_frames(self) -> None:
        """Frames, after a hello and before it."""
        with self.daemon() as daemon:

            class Rows(FramesContract, SynchronousTestCase):
                token = daemon.token

                def open(self, *, early: bytes = b"") -> RawSocket:
                    return RawSocket(daemon.port, early=early)

            self.check(FramesContract, Rows)

    def test_requests(self) -> None:
        """Requests, with ``--dev`` and without it."""
        with self.daemon() as plain, self.daemon("--dev") as dev:

            class Rows(RequestsContract, SynchronousTestCase):
                def exchange(self, sent: bytes, with_dev: bool) -> bytes:
                    asked = dev if with_dev else plain
                    for ours, theirs in (
                        (f":{PORT}", f":{asked.port}"),
                        (TOKEN, asked.token),
                    ):
                        sent = sent.replace(ours.encode(), theirs.encode())
                    return exchange(asked, sent)

            self.check(RequestsContract, Rows)
