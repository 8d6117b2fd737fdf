"""A real daemon, and connections without end."""

import os
import socket
import struct
import time

from ..rawsocket import TEXT, RawSocket, close_frame, frame, text
from ..waiting import wait_until
from .daemon import Daemon, HomeCase, running

FREELY = ("--rate=100000", "--burst=100000")
WRONG = text({"type": "hello", "token": "A" * 43, "client": "x/1.0.0"})
SET = text(
    {
        "type": "request",
        "id": "1",
        "service": "state",
        "method": "set",
        "params": {"ns": "large", "key": "k", "value": 1},
    }
)


def descriptors(daemon: Daemon) -> int:
    """Give how many files and sockets the daemon has open."""
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def reset(raw: RawSocket) -> None:
    """Cut a connection with a reset."""
    raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.socket.close()


class LoadTests(HomeCase):
    """Tests of what is left of many connections."""

    def test_attack_connections_without_end(self) -> None:
        """Hundreds of connections, however they end, leave no file and no memory."""
        with running(self.home, *FREELY) as daemon:
            self.connect_variously(daemon, 60)
            wait_until(lambda: descriptors(daemon) < 60)
            time.sleep(2.0)
            files, memory = descriptors(daemon), daemon.memory()
            self.connect_variously(daemon, 600)
            wait_until(lambda: descriptors(daemon) <= files)
            self.assertLess(daemon.memory() - memory, 4096)
        for wrong in ("Traceback", "Unhandled"):
            self.assertNotIn(wrong, "".join(daemon.lines))

    def connect_variously(self, daemon: Daemon, count: int) -> None:
        """Open so many sockets, and end each in another way."""
        for number in range(count):
            raw = RawSocket(daemon.port)
            assert raw.status == 101, raw.status
            match number % 6:
                case 0:
                    raw.hello(daemon.token)
                    raw.send(close_frame(1000))
                    raw.ended()
                case 1:
                    raw.send(WRONG)
                    raw.ended()
                case 2:
                    raw.hello(daemon.token)
                    raw.send(SET)
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
