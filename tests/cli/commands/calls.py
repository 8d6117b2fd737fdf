"""A daemon to call: a web server that answers what a test wants."""

from __future__ import annotations

import io
import json
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from unittest import mock

from bridge.datadir.lock import acquire
from bridge.datadir.paths import DataDir
from bridge.datadir.token import PairingToken

from .authors.test_keygen import CommandTestCase


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers["content-length"])
        self.server.asked.append(
            (self.path, json.loads(self.rfile.read(length)), dict(self.headers))
        )
        status, body = self.server.answer
        if status == 0:
            return  # the connection is closed without an answer
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

    def log_message(self, *_):
        pass


class CallCase(CommandTestCase):
    """A test of a command that calls a daemon, which is the test's."""

    main: Any

    def setUp(self):
        """Be a daemon that answers ``{}``."""
        super().setUp()
        self.server: Any = HTTPServer(("127.0.0.1", 0), _Handler)
        self.server.asked, self.server.answer = [], (200, {})
        thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(self.server.shutdown)
        self.data = DataDir(self.root / "data")
        self.data.create()
        self.token = PairingToken.load_or_create(self.data.token).reveal()
        self.address = f"127.0.0.1:{self.server.server_port}"
        self.data.address.write_text(f"{self.address}\n")
        self.lock = acquire(self.data.lock)
        self.addCleanup(self.lock.release)

    def answering(self, status: int, body: Any) -> None:
        """Answer so from now on."""
        self.server.answer = (status, body)

    def refusing(self, status: int, code: str, message: str) -> None:
        """Refuse so from now on."""
        error = {"code": code, "message": message}
        self.answering(status, {"ok": False, "error": error})

    def run_main(self, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        """Run the command: its exit status, its output, and its error messages."""
        line = ["--host=reference", f"--data-dir={self.data.root}", *arguments]
        with mock.patch("sys.stdin", io.StringIO(stdin)):
            return self.run_command(partial(type(self).main, line))
