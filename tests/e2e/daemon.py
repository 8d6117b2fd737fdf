"""A real daemon in a process of its own, and a page's socket to it."""

import atexit
import functools
import http.client
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from twisted.trial.unittest import SynchronousTestCase

from .. import programs
from ..directories import fresh_directory
from ..npm import setup_options
from ..rawsocket import CLOSE, RawSocket, frame, text
from ..schemas.checking import check_frame, check_push, check_response, check_result

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 60.0

C = TypeVar("C", bound="Command")


class HomeCase(SynchronousTestCase):
    """
    A test in a home of its own.

    :ivar home: It, with nothing in it.
    :ivar data: Where a daemon has its data directory there.
    """

    def setUp(self) -> None:
        self.home = fresh_directory(self)
        self.data = self.home / "data"
        self.where = ("--host=reference", f"--data-dir={self.data}")


def environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give an environment in which nothing of the user's is found."""
    kept = {k: v for k, v in os.environ.items() if k.startswith(("npm_", "NPM_"))}
    return {
        **kept,
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        **(more or {}),
    }


def command(*arguments: str) -> list[str]:
    """Give the command line of ``plugin-bridge``."""
    return [sys.executable, "-u", "-m", "bridge", *arguments]


# Makes standard input the terminal of its session, and becomes what is named next.
# The tests themselves may run with nohup(1), which has SIGHUP ignored.
_ON_A_TERMINAL = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGHUP, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def on_a_terminal(
    case: SynchronousTestCase,
    home: Path,
    line: Sequence[str],
    more: Mapping[str, str] | None = None,
) -> tuple[subprocess.Popen[bytes], int]:
    """Start a command on a terminal of its own; it, and the terminal's other end."""
    master, slave = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _ON_A_TERMINAL, *line],
        cwd=home,
        env=environment(home, more),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    case.addCleanup(process.wait)
    case.addCleanup(process.kill)
    return process, master


def run(
    home: Path, *arguments: str, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command that ends by itself."""
    return ended(home, command(*arguments), more)


def ended(
    home: Path, line: Sequence[str], more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    env = environment(home, more)
    return programs.run(*line, cwd=home, env=env, timeout=PATIENCE_SECONDS)


@functools.cache
def _template() -> Path:
    home = Path(tempfile.mkdtemp(prefix="bridge-template-"))
    atexit.register(shutil.rmtree, home)
    data = home / "data"
    where = ("--host=reference", f"--data-dir={data}", *setup_options())
    done = run(home, "setup", *where)
    assert done.returncode == 0, done.stdout + done.stderr
    return data


def set_up(home: Path, name: str = "data") -> Path:
    """Return a directory of ``home`` as ``setup`` makes it for the reference host."""
    return shutil.copytree(_template(), home / name, symlinks=True)


class Command:
    """A command that goes on, and what it prints."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self._queue: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line)
            self._queue.put(line)
        self.process.stdout.close()
        self._queue.put(None)

    def wait_for(self, pattern: str) -> str:
        """Wait for a line; gives the first group of what it matched."""
        while (line := self._queue.get(timeout=PATIENCE_SECONDS)) is not None:
            if found := re.search(pattern, line):
                return found[1] if found.groups() else found[0]
        raise AssertionError("it ended:\n" + "".join(self.lines))

    def stop(self, signal_number: int = signal.SIGTERM) -> int:
        """End it; gives its exit status."""
        self.process.send_signal(signal_number)
        return self.wait()

    def wait(self) -> int:
        """Wait for its end; gives its exit status."""
        status = self.process.wait(PATIENCE_SECONDS)
        self._reader.join()
        return status


def started(
    home: Path, *arguments: str, more: Mapping[str, str] | None = None
) -> AbstractContextManager[Command]:
    """Run a command until the block ends, or the block has ended it."""
    return printing(command(*arguments), home, more)


@contextmanager
def printing(
    line: list[str],
    home: Path,
    more: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
) -> Iterator[Command]:
    """Run a program until the block ends, or the block has ended it."""
    with ending(Command(popen(line, home, more, pass_fds))) as made:
        yield made


@contextmanager
def ending(command: C) -> Iterator[C]:
    """End a command after the block, unless it has ended."""
    try:
        yield command
    finally:
        if command.process.poll() is None:
            command.process.terminate()
        command.wait()


def popen(
    line: list[str],
    home: Path,
    more: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[str]:
    """Start a command line, whose output is read together with its errors."""
    return subprocess.Popen(
        line,
        cwd=home,
        env=environment(home, more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        pass_fds=pass_fds,
        # It has no terminal, wherever the tests are run.
        start_new_session=True,
    )


def read_token(data: Path) -> str:
    """Give the pairing token of a data directory."""
    return (data / "token").read_text("ascii").strip()


class Daemon(Command):
    def __init__(self, process: subprocess.Popen[str], data: Path) -> None:
        super().__init__(process)
        self.data = data
        self.port = int(self.wait_for(r"listening on http://127\.0\.0\.1:(\d+)"))

    @property
    def token(self) -> str:
        return read_token(self.data)

    def memory(self, kind: str = "VmRSS") -> int:
        """Its resident memory in KiB; the most it ever held for ``VmHWM``."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        return int(re.search(rf"{kind}:\s+(\d+)", status)[1])

    def switches(self) -> int:
        """How often its threads have waited for something so far."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/status")
        texts = [task.read_text("ascii") for task in tasks]
        found = [re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", t) for t in texts]
        return sum(int(one[1]) for one in found if one is not None)

    def http(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, dict[str, str], Any]:
        """Make one HTTP request: status, headers, and the body read as JSON."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=PATIENCE_SECONDS
        )
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, dict(headers or {}))
            answer = connection.getresponse()
            text = answer.read()
            given = {k.lower(): v for k, v in answer.getheaders()}
            return answer.status, given, json.loads(text) if text else None
        finally:
            connection.close()

    def call_by_http(self, service: str, method: str, params: Any) -> Any:
        """Call a method by HTTP, as ``--dev`` allows."""
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
        }
        status, _, got = self.http("POST", f"/v1/{service}/{method}", params, headers)
        if status == HTTPStatus.OK:
            check_result(f"{service}/{method}", params, got)
        return got

    def rotate_token(self, home: Path) -> str:
        """Replace its token as a command does; gives the new one."""
        where = f"--data-dir={self.data}", "--host=reference"
        done = run(home, "run", *where, "--rotate-token")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def page(self) -> AbstractContextManager["Page"]:
        return paired(self.port, self.data)


class Page:
    """A page's end of the socket."""

    def __init__(self, port: int) -> None:
        self.raw = RawSocket(port, origin="http://localhost:9000")
        self.welcome: Any = None
        self.pushes: list[dict[str, Any]] = []
        self._next = 0

    def send(self, value: Any) -> None:
        self.raw.send(text(value))

    def receive(self) -> Any:
        got = self.raw.receive()
        check_frame(got)
        if got["type"] == "push":
            check_push(got)
        return got

    def begin(self, service: str, method: str, params: Any = None) -> str:
        """Send a request; gives its id."""
        self._next += 1
        request_id = str(self._next)
        asked = {"type": "request", "id": request_id, "service": service}
        self.send({**asked, "method": method, "params": params or {}})
        return request_id

    def answered(self, request_id: str) -> Any:
        """Wait for the response to a request; keeps the pushes that come before."""
        while True:
            got = self.receive()
            if got["type"] == "response" and got["id"] == request_id:
                return got
            if got["type"] == "push":
                self.pushes.append(got)

    def call(self, service: str, method: str, params: Any = None) -> Any:
        got = self.answered(self.begin(service, method, params))
        check_response(f"{service}/{method}", params or {}, got)
        return got

    def result(self, service: str, method: str, params: Any = None) -> Any:
        """Call a method that succeeds; gives its result."""
        got = self.call(service, method, params)
        assert got["ok"], got
        return got["result"]

    def refusal(self, service: str, method: str, params: Any = None) -> str:
        """Call a method that is refused; gives the message."""
        got = self.call(service, method, params)
        assert not got["ok"], got
        return got["error"]["message"]

    def closed_with(self) -> tuple[int, str]:
        """Wait for the daemon to close the socket: its code and reason."""
        while (found := self.raw.read()) is not None and found[0] != CLOSE:
            pass
        assert found is not None, "the connection ended"
        self.raw.send(frame(CLOSE, found[1]))
        return int.from_bytes(found[1][:2]), found[1][2:].decode("utf-8")

    def close(self) -> None:
        self.raw.socket.close()


@contextmanager
def paired(port: int, data: Path) -> Iterator[Page]:
    """Open a page's socket to the daemon of a data directory, and pair it."""
    page = Page(port)
    try:
        page.send({"type": "hello", "token": read_token(data), "client": "test/1.0.0"})
        page.welcome = page.receive()
        assert page.welcome["type"] == "welcome", page.welcome
        yield page
    finally:
        page.close()


@contextmanager
def running(
    home: Path,
    *options: str,
    more: Mapping[str, str] | None = None,
    host: str = "reference",
) -> Iterator[Daemon]:
    """
    Run a daemon on a free port until the block ends.

    :param home: Its home directory; an empty one will do.
    """
    data = home / "data"
    line = command(
        "run", f"--host={host}", "--listen=127.0.0.1:0", f"--data-dir={data}", *options
    )
    with ending(Daemon(popen(line, home, more), data)) as daemon:
        yield daemon
