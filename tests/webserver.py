"""Web servers on loopback, for as long as a block of code runs."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import (
    BaseHTTPRequestHandler,
    SimpleHTTPRequestHandler,
    ThreadingHTTPServer,
)
from pathlib import Path
from typing import Any, Final

from attrs import Factory, define, field

_CHUNK: Final = 1 << 16


@contextmanager
def serving(answers: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on a port of loopback; gives the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), answers)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Answers(BaseHTTPRequestHandler):
    """Answers that no cache keeps, and that are not logged."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


class _Files(Answers, SimpleHTTPRequestHandler):
    """Serves a directory."""


@contextmanager
def serving_directory(directory: Path) -> Iterator[str]:
    """Serve the files of a directory; gives the address."""
    with serving(partial(_Files, directory=str(directory))) as address:
        yield address


@define(eq=False)
class Relay:
    """
    The way to servers on loopback, which can be interrupted.

    :ivar route: Gives the port of the server, by what a connection begins with.
    """

    route: Callable[[bytes], int]
    host: str = "127.0.0.1"
    port: int = 0
    _listening: socket.socket = field(init=False)
    _open: list[socket.socket] = field(default=Factory(list), init=False)

    def __attrs_post_init__(self) -> None:
        self._listening = socket.create_server((self.host, self.port))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self._open.append(near)
                threading.Thread(target=self._begin, args=(near,), daemon=True).start()

    def _begin(self, near: socket.socket) -> None:
        with suppress(OSError), near:
            if not (head := near.recv(_CHUNK)):
                return
            target = self.route(head)
            with socket.create_connection(("127.0.0.1", target)) as far:
                self._open.append(far)
                # A server answers only to its own name.
                own, meant = (f"Host: 127.0.0.1:{port}" for port in (self.port, target))
                names = own.encode(), meant.encode()
                far.sendall(head.replace(*names))
                back = threading.Thread(target=_pass, args=(far, near), daemon=True)
                back.start()
                _pass(near, far, *names)
                back.join()

    def drop(self) -> None:
        """End every connection; new ones can be made."""
        ended, self._open = self._open, []
        for end in ended:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        """End every connection, and accept no more."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.drop()


def _pass(
    source: socket.socket, sink: socket.socket, old: bytes = b"", new: bytes = b""
) -> None:
    """Carry bytes one way to their end; ``new`` takes the place of ``old``."""
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            sink.sendall(chunk.replace(old, new) if old else chunk)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
