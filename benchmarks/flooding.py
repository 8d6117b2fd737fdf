"""What abuses are made of: connections that are written to without a pause."""

import contextlib
import selectors
import socket
import time
from collections.abc import Callable, Iterable
from itertools import cycle

from attrs import define

from tests.rawsocket import RawSocket, text

READ = {"service": "state", "method": "get", "params": {"ns": "host", "key": "k"}}
KNOCK_SECONDS = 5.0


def request(number: int, **fields: object) -> bytes:
    """Write a request frame, which reads a setting unless ``fields`` differ."""
    return text({"type": "request", "id": str(number), **READ, **fields})


def paired(port: int, token: str, receive_bytes: int | None = None) -> RawSocket:
    """Open a socket and pair it, however often it must be tried."""
    while True:
        with contextlib.suppress(OSError, AssertionError, IndexError):
            raw = RawSocket(port, receive_bytes=receive_bytes)
            if raw.status == 101:
                raw.hello(token)
                return raw
            raw.socket.close()
        time.sleep(0.05)


def connect(port: int) -> socket.socket:
    """Open a TCP connection to the daemon."""
    return socket.create_connection(("127.0.0.1", port))


@define
class _Writing:
    """What is still to be written of one copy of the data."""

    left: memoryview


def pump(
    data: bytes, count: int, open_one: Callable[[], socket.socket], *, read: bool
) -> None:
    """
    Keep connections open, and write the data to each of them again and again.

    :param count: How many connections.
    :param open_one: Opens one; called again when one was closed.
    :param read: Whether what they are sent is read, and discarded.
    """
    waiting = selectors.DefaultSelector()
    events = selectors.EVENT_WRITE | (selectors.EVENT_READ if read else 0)
    while True:
        # One at a time, so that the others are not idle while it opens.
        if len(waiting.get_map()) < count:
            with contextlib.suppress(OSError):
                opened = open_one()
                opened.setblocking(False)
                waiting.register(opened, events, _Writing(memoryview(data)))
        for key, ready in waiting.select(1.0):
            connection = key.fileobj
            assert isinstance(connection, socket.socket)
            try:
                _move(connection, key.data, data, ready)
            except BlockingIOError:
                pass
            except OSError:
                waiting.unregister(connection)
                connection.close()


def _move(connection: socket.socket, state: _Writing, data: bytes, ready: int) -> None:
    if ready & selectors.EVENT_READ and not connection.recv(1 << 20):
        raise ConnectionError
    if ready & selectors.EVENT_WRITE:
        sent = connection.send(state.left)
        state.left = state.left[sent:] or memoryview(data)


def knock(port: int, openings: Iterable[bytes]) -> None:
    """Connect, send one opening after the other, each by itself, and read the end."""
    for opening in cycle(openings):
        with contextlib.suppress(OSError), connect(port) as connection:
            connection.settimeout(KNOCK_SECONDS)
            connection.sendall(opening)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                pass
