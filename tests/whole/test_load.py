"""A real daemon, and peers that flood it, stall, break off, or send anything at all."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
import time

from twisted.trial.unittest import SynchronousTestCase

from bridge.protocol.limits import (
    SLOW_CLOSE_SECONDS,
    UNSENT_BYTES,
)

from ..directories import fresh_directory
from ..rawsocket import CONTINUATION, TEXT, RawSocket, close_frame, frame, text
from ..waiting import wait_until
from .daemon import Daemon, running

FREELY = ("--rate=100000", "--burst=100000")
VALUE = "x" * 60_000


def asked(number: int, method: str, **params: object) -> bytes:
    """Write a request of the service ``state``."""
    return text(
        {
            "type": "request",
            "id": str(number),
            "service": "state",
            "method": method,
            "params": {"ns": "large", **params},
        }
    )


def descriptors(daemon: Daemon) -> int:
    """Give how many files and sockets the daemon has open."""
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def reset(raw: RawSocket) -> None:
    """Cut a connection with a reset."""
    raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.socket.close()


class LoadTests(SynchronousTestCase):
    """Tests with one daemon each."""

    def setUp(self) -> None:
        """An empty home."""
        self.home = fresh_directory(self)

    @contextlib.contextmanager
    def daemon(self):
        """Run a daemon that asks nobody to wait, and find no defect in its log."""
        with running(self.home, *FREELY) as daemon:
            yield daemon
        reported = "".join(daemon.lines)
        for wrong in ("Traceback", "Unhandled"):
            self.assertNotIn(wrong, reported)

    def test_attack_page_that_never_reads(self) -> None:
        """It gets 1013 if it reads soon after, and is cut off if it does not."""
        with self.daemon() as daemon:
            with RawSocket(daemon.port) as page:
                page.hello(daemon.token)
                for number in range(16):
                    page.send(asked(number, "set", key=str(number), value=VALUE))
                    page.answer()
            before = descriptors(daemon)
            count = 2 * UNSENT_BYTES // (16 * len(VALUE))
            late, never = (RawSocket(daemon.port, receive_bytes=4096) for _ in "12")
            for raw in (late, never):
                raw.hello(daemon.token)
                raw.send(*(asked(number, "list") for number in range(count)))
            time.sleep(SLOW_CLOSE_SECONDS / 2)
            end = late.ended()
            self.assertEqual((end.code, end.reason), (1013, "slow_reader"))
            opcodes = {opcode for opcode, _ in end.before}
            self.assertLessEqual(opcodes, {TEXT, CONTINUATION})
            late.socket.close()
            wait_until(lambda: descriptors(daemon) == before)
            with contextlib.suppress(AssertionError):  # it ends within a frame
                self.assertTrue(never.ended().reset)
            never.socket.close()

    def test_attack_connections_without_end(self) -> None:
        """Hundreds of connections, however they end, leave no file and no memory."""
        with self.daemon() as daemon:
            self.connect_variously(daemon, 60)
            wait_until(lambda: descriptors(daemon) < 60)
            time.sleep(2.0)
            files, memory = descriptors(daemon), daemon.memory()
            self.connect_variously(daemon, 600)
            wait_until(lambda: descriptors(daemon) <= files)
            self.assertLess(daemon.memory() - memory, 4096)

    def connect_variously(self, daemon: Daemon, count: int) -> None:
        """Open so many sockets, and end each in another way."""
        wrong = text({"type": "hello", "token": "A" * 43, "client": "x/1.0.0"})
        for number in range(count):
            raw = RawSocket(daemon.port)
            assert raw.status == 101, raw.status
            match number % 6:
                case 0:
                    raw.hello(daemon.token)
                    raw.send(close_frame(1000))
                    raw.ended()
                case 1:
                    raw.send(wrong)
                    raw.ended()
                case 2:
                    raw.hello(daemon.token)
                    raw.send(asked(1, "set", key="k", value=number))
                    reset(raw)
                case 3:
                    raw.hello(daemon.token)
                    raw.send(frame(TEXT, b"x" * 5000)[:-1])
                case 4:
                    raw.send(frame(3))
                    raw.ended()
                case _:
                    reset(raw)
            raw.socket.close()

    def test_page_gone_while_it_is_answered(self) -> None:
        """What a page asked for before it was cut off is done all the same."""
        with self.daemon() as daemon:
            raw = RawSocket(daemon.port)
            raw.hello(daemon.token)
            raw.send(asked(1, "set", key="kept", value=1))
            reset(raw)

            def kept() -> bool:
                with RawSocket(daemon.port) as page:
                    page.hello(daemon.token)
                    page.send(asked(1, "get", key="kept"))
                    return bool(page.answer()["result"]["value"] == 1)

            wait_until(kept)

    def test_attack_anything_at_all(self) -> None:
        """Noise, as frames and as requests, is answered or cut off, and never fatal."""
        chance = random.Random(6455)  # noqa: S311 (noise, no secret)
        with self.daemon() as daemon:
            for number in range(120):
                if number % 3:
                    raw = RawSocket(daemon.port)
                    if number % 2:
                        raw.hello(daemon.token)
                    noise = b"".join(
                        frame(
                            chance.choice((0, 1, 1, 1, 2, 9, 10)),
                            chance.randbytes(chance.randrange(40)),
                            fin=chance.random() < 0.7,
                        )
                        for _ in range(chance.randrange(1, 9))
                    ) + chance.randbytes(chance.randrange(99))
                    connection = raw.socket
                else:
                    connection = socket.create_connection(("127.0.0.1", daemon.port))
                    head = bytearray(b"GET /v1/ws HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                    for _ in range(chance.randrange(9)):
                        head[chance.randrange(len(head))] = chance.randrange(256)
                    noise = bytes(head)
                with contextlib.suppress(OSError):
                    connection.sendall(noise)
                    connection.settimeout(0.05)
                    connection.recv(65536)
                connection.close()
            with RawSocket(daemon.port) as page:
                page.hello(daemon.token)
                page.send(asked(1, "get", key="k"))
                self.assertTrue(page.answer()["ok"])
