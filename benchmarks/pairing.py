"""
How long the first page waits: it pairs as soon as the daemon listens, or later.

Run ``python -m benchmarks.pairing``.  What the daemon loads after listening
(``bridge.daemon.late``) is loaded by the first page when nothing else has had the time.
The second page pairs with the same daemon once all is loaded.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from attrs import frozen

from tests.ports import free_port
from tests.rawsocket import text

from .start import ROOT

ROUNDS: Final = 9
PATIENCE_SECONDS: Final = 30.0
_LOADED_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 0.001
_UPGRADE: Final = (
    "GET /v1/ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@frozen
class Pairing:
    """Seconds from connecting to ``welcome``, of the first page and of a later one."""

    first: float
    later: float


def _listening(port: int) -> socket.socket:
    """Connect as soon as something listens."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        with contextlib.suppress(ConnectionError):
            return socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)
        assert time.monotonic() < end, "it does not listen"
        time.sleep(_PAUSE_SECONDS)


def _pair(page: socket.socket, port: int, token: str) -> float:
    """Send upgrade and hello at once; return the seconds until ``welcome``."""
    begun = time.perf_counter()
    hello = {"type": "hello", "token": token, "client": "benchmark/1.0.0"}
    page.sendall(_UPGRADE.format(port=port).encode("ascii") + text(hello))
    received = b""
    while b'"welcome"' not in received:
        piece = page.recv(65536)
        assert piece, received[:200]
        received += piece
    return time.perf_counter() - begun


def pair(home: Path) -> Pairing:
    """Start a daemon, pair at once and again when all is loaded, and end it."""
    port, data = free_port(), home / "data"
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "bridge", "run", "--host=reference"),
            *(f"--listen=127.0.0.1:{port}", f"--data-dir={data}"),
        ],
        cwd=home,
        env={"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            with _listening(port) as page:
                token = (data / "token").read_text("ascii").strip()
                first = _pair(page, port, token)
            time.sleep(_LOADED_SECONDS)
            with _listening(port) as page:
                return Pairing(first, _pair(page, port, token))
        finally:
            process.terminate()


def measure(rounds: int = ROUNDS) -> list[Pairing]:
    """Pair with a new daemon each round; the first, which may compile, is left out."""
    with tempfile.TemporaryDirectory() as home:
        return [pair(Path(home)) for _ in range(rounds + 1)][1:]


def main() -> None:
    """Measure, and print."""
    found = measure()
    first, later = (
        min(getattr(one, name) for one in found) for name in ("first", "later")
    )
    print(f"first page {first * 1e3:.0f} ms, a later one {later * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
