"""
Calls over WebSockets: the daemon against aiohttp, which does no more.

The peer reads the same setting by the same frames, but validates nothing and limits
nothing.  It is installed into ``.cache/benchmarks`` when a registry can be reached, and
left out otherwise.  The client only counts bytes, as all answers have one length: with
either server it takes some microseconds of a call.
"""

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from statistics import median
from typing import Any, Final

from attrs import define, field, frozen

from tests.e2e.daemon import environment, running
from tests.ports import free_port
from tests.rawsocket import RawSocket, text

from .start import ROOT

HERE: Final = Path(__file__).parent
SCRATCH: Final = ROOT / ".cache" / "benchmarks"
PATIENCE_SECONDS: Final = 20.0
VALUE_BYTES: Final = 200
_HUGE: Final = "1000000"


@frozen
class Load:
    """
    A way of calling.

    :ivar depth: How many calls of a socket are under way at once.
    """

    sockets: int
    depth: int
    seconds: float = 0.5


@frozen
class Served:
    """Calls answered in a second, and microseconds of a round trip."""

    rate: float
    median: float


@frozen
class Server:
    """A running server; one without a token gets no hello."""

    port: int
    token: str | None = None


LOADS: Final = {
    "one socket": Load(1, 1),
    "64 sockets": Load(64, 1),
    "one socket, 64 calls at once": Load(1, 64),
}


REQUEST: Final = text(
    {
        "type": "request",
        "id": "1",
        "service": "state",
        "method": "get",
        "params": {"ns": "host", "key": "k"},
    }
)


@define
class Caller:
    """
    Keeps calls under way on one socket.

    :ivar size: The bytes of an answer.
    """

    socket: Any
    size: int
    _sent: deque[float] = field(factory=deque)
    _rest: int = 0

    def call(self, count: int) -> None:
        """Send more calls."""
        self._sent.extend([time.perf_counter()] * count)
        self.socket.sendall(REQUEST * count)

    def answered(self) -> list[float]:
        """Read what has come, and call again; returns how long each call took."""
        received = self._rest + len(self.socket.recv(1 << 20))
        count, self._rest = divmod(received, self.size)
        now = time.perf_counter()
        trips = [now - self._sent.popleft() for _ in range(count)]
        self.call(count)
        return trips


def caller(server: Server) -> Caller:
    """Connect, and look how long an answer is."""
    raw = RawSocket(server.port)
    if server.token is not None:
        raw.hello(server.token)
    raw.send(REQUEST)
    return Caller(raw.socket, len(raw.socket.recv(65536)))


def serve_load(server: Server, load: Load) -> Served:
    """Call a server for a while."""
    trips: list[float] = []
    with contextlib.ExitStack() as stack:
        selector = stack.enter_context(DefaultSelector())
        callers = [caller(server) for _ in range(load.sockets)]
        for one in callers:
            stack.enter_context(one.socket)
            selector.register(one.socket, EVENT_READ, one)
        begun = time.perf_counter()
        for one in callers:
            one.call(load.depth)
        while (took := time.perf_counter() - begun) < load.seconds:
            for key, _ in selector.select():
                trips += key.data.answered()
    return Served(len(trips) / took, median(trips) * 1e6)


@contextlib.contextmanager
def listening(command: list[str], home: Path, port: int) -> Iterator[None]:
    """Run a server until the block ends; it listens when the block begins."""
    with subprocess.Popen(
        command,
        cwd=home,
        env=environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            assert time.monotonic() < end, f"{command[0]} does not listen"
            assert process.poll() is None, f"{command[0]} has ended"
            time.sleep(0.05)
        try:
            yield
        finally:
            process.terminate()


@contextlib.contextmanager
def daemon(home: Path) -> Iterator[Server]:
    """Run the daemon, with a setting of ``VALUE_BYTES``."""
    data = home / "data"
    data.mkdir(mode=0o700)
    state = data / "state.json"
    state.write_text(json.dumps({"host": {"k": "x" * VALUE_BYTES}}), "ascii")
    state.chmod(0o600)
    with running(home, f"--rate={_HUGE}", f"--burst={_HUGE}") as run:
        yield Server(run.port, run.token)


def _aiohttp(port: int) -> list[str] | None:
    """Return the command of the peer in aiohttp; installs it first."""
    python = SCRATCH / "venv" / "bin" / "python"
    with contextlib.suppress(subprocess.CalledProcessError, OSError):
        if not python.exists():
            subprocess.run(
                [sys.executable, "-m", "venv", str(SCRATCH / "venv")], check=True
            )
        install = [str(python), "-m", "pip", "install", "--quiet", "aiohttp"]
        subprocess.run(install, check=True, capture_output=True)
        return [str(python), str(HERE / "peer_aiohttp.py"), str(port), str(VALUE_BYTES)]
    return None


def measure(rounds: int = 12) -> dict[str, dict[str, list[Served]]]:
    """Call the daemon and its peers in turns; by load, then by server."""
    found: dict[str, dict[str, list[Served]]] = {name: {} for name in LOADS}
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = {"plugin-bridge": stack.enter_context(daemon(home))}
        port = free_port()
        command = _aiohttp(port)
        if command is None:
            print("aiohttp can't be installed, and is left out", file=sys.stderr)
        else:
            stack.enter_context(listening(command, home, port))
            servers["aiohttp"] = Server(port)
        for _ in range(rounds):
            for load_name, load in LOADS.items():
                for name, server in servers.items():
                    served = serve_load(server, load)
                    found[load_name].setdefault(name, []).append(served)
    return found
