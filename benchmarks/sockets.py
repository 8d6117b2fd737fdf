"""
Calls over WebSockets: the daemon against aiohttp, which does no more.

The client is in C, so that it is no bottleneck; it is compiled by ``cc`` on each run.
The peer reads the same setting by the same frames, but validates nothing and limits
nothing.  It is installed into ``.cache/benchmarks`` when a registry can be reached, and
left out otherwise.
"""

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from attrs import frozen

from tests.e2e.daemon import environment, running
from tests.ports import free_port

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
    milliseconds: int = 500


@frozen
class Served:
    """Calls answered in a second, and microseconds of a round trip."""

    rate: float
    median: float
    p99: float


@frozen
class Server:
    """A running server, and how it is spoken to."""

    port: int
    path: str = "/"
    hello: str = ""


LOADS: Final = {
    "one socket": Load(1, 1),
    "64 sockets": Load(64, 1),
    "one socket, 64 calls at once": Load(1, 64),
}


def compiled(folder: Path) -> Path:
    """
    Compile the client.

    :raise SystemExit: There is no C compiler; the message has the command for it.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit("there is no C compiler; run: apt-get install gcc libc6-dev")
    program = folder / "sockets"
    source = HERE / "sockets.c"
    subprocess.run([compiler, "-O2", "-o", str(program), str(source)], check=True)
    return program


def serve_load(client: Path, server: Server, load: Load) -> Served:
    """Call a server for a while."""
    params = {"ns": "host", "key": "k"}
    request = {"type": "request", "id": "1", "service": "state", "method": "get"}
    words = [
        *(str(server.port), server.path, server.hello),
        json.dumps({**request, "params": params}),
        *map(str, (load.sockets, load.depth, load.milliseconds)),
    ]
    printed = subprocess.run(
        [str(client), *words], check=True, capture_output=True, text=True
    ).stdout
    return Served(*map(float, printed.split()))


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
        hello = {"type": "hello", "token": run.token, "client": "benchmark/1.0.0"}
        time.sleep(1.0)  # what it loads in the background would be part of the time
        yield Server(run.port, "/v1/ws", json.dumps(hello))


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
        client = compiled(home)
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
                    served = serve_load(client, server, load)
                    found[load_name].setdefault(name, []).append(served)
    return found
