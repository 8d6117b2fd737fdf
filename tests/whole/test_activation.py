"""A real daemon that inherits its socket, as a supervisor gives it."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase
from websocket import WebSocketBadStatusException, create_connection

from ..directories import fresh_directory
from ..web.stack import read_answer, write_request
from .daemon import PATIENCE_SECONDS, Daemon, command, environment, run

# A supervisor's child: the socket is descriptor 3, and the variables name this process.
_AS_A_SUPERVISOR = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


class ActivationTests(SynchronousTestCase):
    """Tests for socket activation."""

    def setUp(self) -> None:
        """A home."""
        self.home = fresh_directory(self)

    def start(self, given: socket.socket, *more: str) -> subprocess.Popen[str]:
        """Start a daemon with a socket; its own --listen could not be listened on."""
        options = f"--data-dir={self.home / 'data'}", "--listen=127.0.0.1:1"
        daemon = command("run", "--host=reference", *options, *more)
        return subprocess.Popen(
            [sys.executable, "-c", _AS_A_SUPERVISOR, str(given.fileno()), *daemon],
            cwd=self.home,
            env=environment(self.home),
            pass_fds=[given.fileno()],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @contextmanager
    def listening_at(self, path: Path, mode: int) -> Iterator[socket.socket]:
        """Listen at a path."""
        with socket.socket(socket.AF_UNIX) as given:
            given.bind(str(path))
            os.chmod(path, mode)
            given.listen()
            yield given

    def test_loopback(self) -> None:
        """The inherited port is served, and is the one that Host must name."""
        with socket.create_server(("127.0.0.1", 0)) as given:
            daemon = Daemon(self.start(given), self.home / "data")
            try:
                self.assertEqual(daemon.port, given.getsockname()[1])
                self.assertEqual(daemon.http("GET", "/v1/health")[0], 200)
                wrong = {"Host": "127.0.0.1:1"}
                status, _, body = daemon.http("GET", "/v1/health", headers=wrong)
                self.assertEqual(
                    (status, body["error"]["code"]), (403, "forbidden_host")
                )
            finally:
                daemon.stop()

    def ask(self, path: Path, host: str) -> int:
        """Probe over the Unix-domain socket; gives the status."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE_SECONDS)
            client.connect(str(path))
            close = ("Connection", "close")
            client.sendall(write_request("GET", "/v1/health", (close,), host=host))
            received = b""
            while piece := client.recv(65536):
                received += piece
        return read_answer(received).status

    def open(self, path: Path, origin: str) -> None:
        """Open a page's socket over the Unix-domain socket, and pair it."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE_SECONDS)
            client.connect(str(path))
            page = create_connection(
                "ws://localhost/v1/ws", socket=client, origin=origin
            )
            token = (self.home / "data" / "token").read_text("ascii").strip()
            page.send(f'{{"type":"hello","token":"{token}","client":"c/1.0.0"}}')
            self.assertIn('"welcome"', page.recv())

    def test_unix(self) -> None:
        """Over a path the same rules hold; the path stays private, and stays."""
        path = self.home / "socket"
        with self.listening_at(path, 0o600) as given:
            process = self.start(given)
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    if f"listening on unix:{path}" in line:
                        break
                self.assertEqual(stat.S_IMODE(path.lstat().st_mode), 0o600)
                self.assertEqual(self.ask(path, "localhost"), 200)
                for host in ("evil.example", "localhost:42081", "10.0.0.1"):
                    self.assertEqual(self.ask(path, host), 403)
                self.open(path, "http://localhost:9000")
                with self.assertRaises(WebSocketBadStatusException) as refused:
                    self.open(path, "https://evil.example")
                self.assertEqual(refused.exception.status_code, 403)
            finally:
                process.terminate()
                process.communicate(timeout=PATIENCE_SECONDS)
            self.assertTrue(path.is_socket())

    def test_commands_find_it(self) -> None:
        """Commands find a daemon that listens at a path, by its data directory."""
        path = self.home / "s\u00f6cket"
        place = "--host=reference", f"--data-dir={self.home / 'data'}"
        with self.listening_at(path, 0o600) as given:
            process = self.start(given, "--dev")
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    if "listening on unix:" in line:
                        break
                asked = *place, "state/list", '{"ns": "x"}'
                called = run(self.home, "call", *asked)
                self.assertIn('"entries"', called.stdout, called.stderr)
                looked = run(self.home, "doctor", *place)
                self.assertRegex(looked.stdout, r"daemon: version .* unix:/")
                evaluated = run(self.home, "eval", *place, "return 1")
                self.assertIn("no page is paired", evaluated.stderr)
                exported = self.home / "plugins.json"
                self.assertEqual(
                    run(self.home, "export", *place, str(exported)).returncode, 0
                )
                imported = run(self.home, "import", *place, str(exported))
                self.assertEqual((imported.returncode, imported.stderr), (0, ""))
            finally:
                process.terminate()
                process.communicate(timeout=PATIENCE_SECONDS)
