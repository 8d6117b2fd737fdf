"""The contracts of tests/web, over TCP, with real daemons."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

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
        return exchange(asked, sent.replace(TOKEN.encode(), asked.token.encode()))


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
