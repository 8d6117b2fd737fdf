"""A WebSocket client that sends any bytes, and notes how the connection ends."""

import json
import socket
import struct
import time
from typing import Any, Self

from attrs import frozen

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
PATIENCE_SECONDS = 60.0
MASK = b"\x37\xfa\x21\x3d"
_IDENTITY = bytes(range(256))
_TABLES = [bytes(byte ^ key for byte in _IDENTITY) for key in MASK]


def masked(payload: bytes) -> bytes:
    """Mask, or unmask, a payload with ``MASK``."""
    out = bytearray(payload)
    for i, table in enumerate(_TABLES):
        out[i::4] = payload[i::4].translate(table)
    return bytes(out)


def frame(
    opcode: int,
    payload: bytes = b"",
    *,
    fin: bool = True,
    rsv: int = 0,
    mask: bool = True,
    width: int | None = None,
    length: int | None = None,
) -> bytes:
    """
    Write a frame as a client does, or wrongly.

    :param width: How many bytes the extended length takes: 0, 2 or 8.
    :param length: What is claimed; by default what is true.
    """
    length = len(payload) if length is None else length
    if width is None:
        width = 0 if length < 126 else 2 if length < 65536 else 8
    short = {0: length, 2: 126, 8: 127}[width]
    extended = {0: b"", 2: struct.pack("!H", length & 0xFFFF)}.get(
        width, struct.pack("!Q", length)
    )
    head = bytes([fin << 7 | rsv << 4 | opcode, mask << 7 | short]) + extended
    return head + MASK + masked(payload) if mask else head + payload


def text(value: Any) -> bytes:
    """Write a text frame of JSON."""
    return frame(TEXT, json.dumps(value).encode("ascii"))


def close_frame(code: int, reason: bytes = b"") -> bytes:
    """Write a close frame."""
    return frame(CLOSE, struct.pack("!H", code) + reason)


@frozen
class End:
    """
    How a connection ended, as the client saw it.

    :ivar code: Of the close frame; ``None`` when there was none, or none in it.
    :ivar reset: Whether the connection was reset instead of ended.
    :ivar before: The frames that came before, as ``(opcode, payload)``.
    """

    code: int | None
    reason: str
    reset: bool
    before: list[tuple[int, bytes]]


def connected(port: int, receive_bytes: int | None = None) -> socket.socket:
    """Connect to the daemon; ``receive_bytes`` is what the system keeps unread."""
    made = socket.socket()
    if receive_bytes is not None:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    made.settimeout(PATIENCE_SECONDS)
    made.connect(("127.0.0.1", port))
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


class RawSocket:
    """
    One connection, upgraded.

    :param early: What is sent in one packet with the handshake.
    :param connection: What is used for a socket; by default a new one to ``port``.
    :ivar unread: What was received and not read yet.
    """

    def __init__(
        self,
        port: int,
        *,
        receive_bytes: int | None = None,
        early: bytes = b"",
        origin: str | None = None,
        connection: Any = None,
    ) -> None:
        self.socket: Any = connection or connected(port, receive_bytes)
        self.unread = b""
        self.final = True
        head = (
            f"GET /v1/ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            "Sec-WebSocket-Version: 13\r\n"
        )
        if origin is not None:
            head += f"Origin: {origin}\r\n"
        self.socket.sendall(f"{head}\r\n".encode("ascii") + early)
        while b"\r\n\r\n" not in self.unread:
            if not (more := self.socket.recv(65536)):
                break
            self.unread += more
        received, _, self.unread = self.unread.partition(b"\r\n\r\n")
        self.status = int(received.split(b" ")[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def hello(self, token: str) -> Any:
        """Send hello; return the welcome."""
        self.send(text({"type": "hello", "token": token, "client": "raw/1.0.0"}))
        return self.receive()

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.socket.sendall(piece)

    def read(self) -> tuple[int, bytes] | None:
        """
        Read one frame: opcode and payload; ``None`` at the end.

        ``final`` is afterwards whether it ends its message.
        """
        head = self._exactly(2)
        if head is None:
            return None
        self.final = head[0] >= 0x80
        length = head[1] & 0x7F
        if length >= 126:
            extended = self._exactly(2 if length == 126 else 8)
            assert extended is not None
            length = int.from_bytes(extended)
        payload = self._exactly(length)
        assert payload is not None, "the connection ended within a frame"
        return head[0] & 0x0F, payload

    def receive(self) -> Any:
        """Read one text message's JSON; pings are answered meanwhile."""
        pieces: list[bytes] = []
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            found = self.read()
            assert found is not None, "the connection ended"
            opcode, payload = found
            if opcode == PING:
                assert time.monotonic() < end, "no message came"
                self.send(frame(PONG, payload))
                continue
            assert opcode == (CONTINUATION if pieces else TEXT), found
            pieces.append(payload)
            if self.final:
                return json.loads(b"".join(pieces))

    def answer(self) -> Any:
        """Read the next response; pushes are passed over."""
        while (got := self.receive())["type"] == "push":
            pass
        return got

    def ended(self) -> End:
        before: list[tuple[int, bytes]] = []
        code: int | None = None
        reason, closed, reset = "", False, False
        try:
            while (found := self.read()) is not None:
                assert not closed, "a frame after the close frame"
                if found[0] != CLOSE:
                    before.append(found)
                    continue
                closed = True
                if found[1]:
                    code = int.from_bytes(found[1][:2])
                    reason = found[1][2:].decode("utf-8")
        except ConnectionResetError:
            reset = True
        return End(code, reason, reset, before)

    def _exactly(self, length: int) -> bytes | None:
        parts, missing = [self.unread], length - len(self.unread)
        while missing > 0:
            more = self.socket.recv(min(missing, 1 << 20))
            if not more:
                assert not any(parts), "the connection ended within a frame"
                return None
            parts.append(more)
            missing -= len(more)
        whole = b"".join(parts)
        self.unread = whole[length:]
        return whole[:length]
