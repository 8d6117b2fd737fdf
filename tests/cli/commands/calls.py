"""A daemon to call: a control socket that answers what a test wants."""

import json
import socket
import threading
from typing import Any

from bridge.datadir.paths import DataDir
from bridge.datadir.token import read_or_make_token
from bridge.system.locks import acquire

from ..commandcase import CommandTestCase

WELCOME = {"type": "welcome", "version": "1.2.3", "services": {"remote": {}}}


class Answering:
    """
    Welcomes each connection, and answers every request alike.

    :ivar asked: The service, the method and the parameters of each request.
    :ivar hellos: The first frame of each connection.
    :ivar welcome: The frame that answers it, or bytes.
    :ivar answer: The fields of each response, or bytes; ``None`` ends the connection,
        when a request has come, or after a welcome of bytes.
    """

    def __init__(self, listening: socket.socket) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.hellos: list[Any] = []
        self.welcome: Any = WELCOME
        self.answer: Any = {"ok": True, "result": {}}
        self._listening = listening
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()

    def _serve(self) -> None:
        while True:
            try:
                connected, _ = self._listening.accept()
            except OSError:
                return
            with connected, connected.makefile("rb") as lines:
                for line in lines:
                    self._received(connected, json.loads(line))
                    ends = self.asked or type(self.welcome) is bytes
                    if self.answer is None and ends:
                        break

    def _received(self, connected: socket.socket, frame: Any) -> None:
        if frame["type"] == "hello":
            self.hellos.append(frame)
            answer = self.welcome
        else:
            self.asked.append((frame["service"], frame["method"], frame["params"]))
            answer = self.answer
            if type(answer) is dict:
                answer = {"type": "response", "id": frame["id"], **answer}
        if answer is not None:
            line = answer if type(answer) is bytes else json.dumps(answer).encode()
            connected.sendall(line + b"\n")


class CallCase(CommandTestCase):
    """A test of a command that calls a daemon, which is the test's."""

    command: str

    def setUp(self):
        super().setUp()
        self.data = DataDir(self.root / "data")
        self.data.create()
        self.token = read_or_make_token(self.data.token)
        self.lock = acquire(self.data.lock)
        self.addCleanup(self.lock.release)
        self.server = self.listen()

    def listen(self) -> Answering:
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(self.data.control_socket))
        listening.listen()
        server = Answering(listening)
        self.addCleanup(server.close)
        return server

    def answering(self, result: Any) -> None:
        self.server.answer = {"ok": True, "result": result}

    def refusing(self, code: str, message: str) -> None:
        error = {"code": code, "message": message}
        self.server.answer = {"ok": False, "error": error}

    def call(self, *arguments: str, stdin: str | bytes = "") -> tuple[int, str, str]:
        """Run the command: its exit status, its output, and its error messages."""
        where = ("--host=reference", f"--data-dir={self.data.root}")
        return self.run_main(self.command, *where, *arguments, stdin=stdin)
