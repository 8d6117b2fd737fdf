"""
Time to start, from exec to the first answer: the daemon against a bare Twisted server.

Both are started alternately by the same Python,
with an empty home and compiled modules.  The daemon answers its liveness probe, the
other one lists a directory.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from tests.ports import free_port

from .table import Row

ROUNDS = 9
PATIENCE_SECONDS = 30.0
ROOT = Path(__file__).parents[1]
_PAUSE_SECONDS: Final = 0.001
_WEB: Final = (
    *("-c", "from twisted.scripts.twistd import run; run()", "-n", "--pidfile="),
    *("web", "--listen=tcp:PORT:interface=127.0.0.1", "--path=."),
)
_BRIDGE: Final = (
    *("-m", "bridge", "run", "--host=reference", "--listen=127.0.0.1:PORT"),
    "--data-dir=data",
)


def start(arguments: tuple[str, ...], path: str, home: Path) -> float:
    """Start a server, ask it for a path, and end it; the seconds until it answers."""
    port = free_port()
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    environment["PYTHONPATH"] = str(ROOT)
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode("ascii")
    begun = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *(a.replace("PORT", str(port)) for a in arguments)],
        cwd=home,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        answer = b""
        while not answer:
            assert time.perf_counter() < begun + PATIENCE_SECONDS, "it does not start"
            try:
                with socket.create_connection(("127.0.0.1", port)) as asking:
                    asking.sendall(request)
                    answer = asking.recv(1024)
            except ConnectionError:
                time.sleep(_PAUSE_SECONDS)
        seconds = time.perf_counter() - begun
        assert answer.startswith(b"HTTP/1.1 200"), answer[:40]
        process.terminate()
    return seconds


async def rows(reactor: Any) -> list[Row]:
    """Start the daemon and the bare server in turns."""
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        for number in range(ROUNDS + 1):
            found = start(_BRIDGE, "/v1/health", home), start(_WEB, "/", home)
            if number:  # the first may have compiled modules
                ours.append(found[0] * 1000)
                theirs.append(found[1] * 1000)
    name = "start to first answer"
    return [Row(name, min(ours), "ms", 1.6, min(theirs), "twistd web")]
