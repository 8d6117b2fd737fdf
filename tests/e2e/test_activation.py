"""A real daemon that inherits its socket, as a supervisor gives it."""

import os
import socket
import stat
import sys
from contextlib import AbstractContextManager
from pathlib import Path

from ..rawsocket import RawSocket
from ..web.stack import read_answer, write_request
from .daemon import (
    PATIENCE_SECONDS,
    Command,
    HomeCase,
    command,
    printing,
    read_token,
    run,
)
from .test_edge import read_to_end

# A supervisor's child: the socket is descriptor 3, and the variables name this process.
_AS_A_SUPERVISOR = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


class ActivationTests(HomeCase):
    def given(
        self, listening: socket.socket, *more: str
    ) -> AbstractContextManager[Command]:
        """Run a daemon with a socket; its own --listen could not be listened on."""
        daemon = command("run", *self.where, "--listen=127.0.0.1:1", *more)
        number = listening.fileno()
        line = [sys.executable, "-c", _AS_A_SUPERVISOR, str(number), *daemon]
        return printing(line, self.home, pass_fds=[number])

    def connected(self, path: Path) -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE_SECONDS)
        client.connect(str(path))
        return client

    def test_attack_unix_socket_opened_to_the_world(self) -> None:
        """Over a path the same rules hold; commands find it; it stays, and private."""
        path = self.home / "s\u00f6cket"
        listening = self.enterContext(socket.socket(socket.AF_UNIX))
        listening.bind(str(path))
        os.chmod(path, 0o600)
        listening.listen()
        with self.given(listening, "--dev") as daemon:
            daemon.wait_for("listening on unix:")
            self.assertEqual(stat.S_IMODE(path.lstat().st_mode), 0o600)
            for host, status in (("localhost", 200), ("localhost:42081", 403)):
                with self.connected(path) as client:
                    client.sendall(write_request("GET", "/v1/health", (), host=host))
                    self.assertEqual(read_answer(read_to_end(client)).status, status)
            for origin, status in (
                ("http://localhost:9000", 101),
                ("https://a.b", 403),
            ):
                with self.connected(path) as client:
                    page = RawSocket(80, connection=client, origin=origin)
                    self.assertEqual(page.status, status)
                    if status == 101:
                        token = read_token(self.data)
                        self.assertEqual(page.hello(token)["type"], "welcome")
            # Commands find it by its data directory.
            for name, words, shown in (
                ("call", ["state/list", '{"ns": "x"}'], '"entries"'),
                ("doctor", [], r"daemon: version .* unix:/"),
                ("eval", ["return 1"], "no page is paired"),
            ):
                done = run(self.home, name, *self.where, *words)
                self.assertRegex(done.stdout + done.stderr, shown)
            daemon.stop()
        # It is the supervisor's, which starts the next daemon at a connection.
        self.connected(path).close()
