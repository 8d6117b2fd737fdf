"""Tests of ``bridge.demo.cgi``: real programs behind a real site."""

from __future__ import annotations

import contextlib
import socket
import time
from http import client
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred, inlineCallbacks
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

from bridge.demo.cgi import CGIAnswer

HEAD = "printf 'Status: 201 Made\\r\\nContent-Type: text/x\\r\\n\\r\\n'; "


class Watched(CGIAnswer):
    """An answer that reports when its program has ended."""

    def __init__(self, request: Any, body: bytes, ended: Deferred[None]) -> None:
        super().__init__(request, body)
        self._ended = ended

    def processEnded(self, reason: Any) -> None:
        """See ``ProcessProtocol.processEnded``."""
        super().processEnded(reason)
        self._ended.callback(None)


class Shell(Resource):
    """Runs a shell script for every request."""

    isLeaf = True

    def __init__(self, script: str) -> None:
        super().__init__()
        self._script = script
        self.ended: Deferred[None] = Deferred()

    def render(self, request: Any) -> int:
        """See ``IResource.render``."""
        answer = Watched(request, request.content.read(), self.ended)
        reactor.spawnProcess(answer, "/bin/sh", ["sh", "-c", self._script], {})
        return NOT_DONE_YET


class CGIAnswerTests(TestCase):
    """``CGIAnswer``."""

    def serve(self, script: str) -> Shell:
        """Listen on ``self.port``."""
        shell = Shell(script)
        site: Any = Site(shell)
        listening = reactor.listenTCP(0, site, interface="127.0.0.1")
        self.addCleanup(listening.stopListening)
        self.port = listening.getHost().port
        return shell

    def post(self, body: bytes) -> tuple[int, str | None, bytes]:
        """Ask once."""
        connection = client.HTTPConnection("127.0.0.1", self.port)
        with contextlib.closing(connection):
            connection.request("POST", "/", body, {"Connection": "close"})
            with connection.getresponse() as response:
                return response.status, response.getheader("X"), response.read()

    @inlineCallbacks
    def test_answer(self):
        """A program's status, headers and output are the answer to the body."""
        shell = self.serve(HEAD.replace("text/x", "text/x\\r\\nX: y") + "cat")
        body = bytes(range(256)) * 4000
        answer = yield deferToThread(self.post, body)
        self.assertEqual(answer, (201, "y", body))
        yield shell.ended

    @inlineCallbacks
    def test_slow_client(self):
        """A program waits for a client that reads slowly, and loses nothing."""
        shell = self.serve(HEAD + "exec head -c 20000000 /dev/zero")

        def read_late() -> int:
            connection = client.HTTPConnection("127.0.0.1", self.port)
            with contextlib.closing(connection):
                connection.request("GET", "/", headers={"Connection": "close"})
                with connection.getresponse() as response:
                    time.sleep(0.3)
                    return len(response.read())

        size = yield deferToThread(read_late)
        self.assertEqual(size, 20_000_000)
        yield shell.ended

    @inlineCallbacks
    def test_headers_in_pieces(self):
        """Headers may come in pieces."""
        script = "printf 'X: '; sleep 0.05; printf 'y\\r\\n\\r\\nbody'"
        shell = self.serve(script)
        answer = yield deferToThread(self.post, b"")
        self.assertEqual(answer, (200, "y", b"body"))
        yield shell.ended

    @inlineCallbacks
    def test_no_headers(self):
        """A program that ends without headers is a server error."""
        shell = self.serve("exit 1")
        answer = yield deferToThread(self.post, b"")
        self.assertEqual(answer, (500, None, b""))
        yield shell.ended

    @inlineCallbacks
    def test_client_goes(self):
        """When the client goes, the program is ended."""
        shell = self.serve(HEAD + "cat /dev/zero")

        def leave() -> None:
            with socket.create_connection(("127.0.0.1", self.port)) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                connection.recv(100)

        yield deferToThread(leave)
        yield shell.ended
