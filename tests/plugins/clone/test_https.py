"""Redirects and answers, from a real TLS server."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from unittest import mock

from attrs import evolve

from bridge.plugins.clone import https as http

from ...forge import RogueServer, respond, serve_pack
from .clones import CloneTestCase
from .packs import FILE, blob, commit, make_pack, packed, tree

FILES = blob(b"content")
ROOT = tree((FILE, b"x", FILES))
TIP = commit(ROOT)
GOOD = serve_pack(make_pack(*map(packed, (TIP, ROOT, FILES))), TIP.name.hex())


class RedirectTests(CloneTestCase):
    """Redirects."""

    def redirecting(self, location: str, times: int = 1, status: str = "302 x") -> str:
        """
        The refusal, empty when there is none, of a server that redirects.

        :param location: Where to; ``{port}`` is the server's and ``{n}`` counts.
        """
        left = iter(range(times))

        def script(line: str, body: bytes) -> Iterable[bytes]:
            count = next(left, None) if line.startswith("GET") else None
            if count is None:
                return GOOD(line, body)
            target = location.format(port=server.port, n=count)
            return [respond(status, Location=target)]

        self.server = server = self.rogue(script)
        cloner = self.cloner(server.ca_file)
        if location.startswith("/"):
            self.clone(server.url, cloner)
            return ""
        return self.refusal(server.url, cloner)

    def test_same_host(self) -> None:
        """A redirect on the same host is followed, and kept to."""
        for status in ("301 x", "302 x", "303 x", "307 x", "308 x"):
            where = f"/moved{status[:3]}.git/info/refs?service=git-upload-pack"
            self.redirecting(where, status=status)
            self.assertEqual((self.into / "x").read_bytes(), b"content")
            path = f"/moved{status[:3]}.git/git-upload-pack"
            self.assertIn(path, self.server.requests[-1])
            self.into.rename(self.base / status[:3])

    def test_three(self) -> None:
        """Three redirects are followed."""
        self.redirecting("/n{n}/info/refs?service=git-upload-pack", times=3)
        self.assertTrue(self.into.exists())

    def test_other_port(self) -> None:
        """A redirect to another port of the same host is followed."""
        other = self.rogue(GOOD)
        where = f"https://127.0.0.1:{other.port}/y/info/refs?service=git-upload-pack"
        server = self.rogue(lambda line, body: [respond("302 x", Location=where)])
        self.clone(server.url, self.cloner(server.ca_file))
        self.assertEqual(len(server.requests), 1)
        self.assertEqual(len(other.requests), 2)

    def test_loop(self) -> None:
        """A loop ends after three."""
        where = "https://127.0.0.1:{port}/x.git/info/refs?service=git-upload-pack"
        message = self.redirecting(where, times=100)
        self.assertEqual(message, "clone_failed: redirect refused: too many")
        self.assertEqual(len(self.server.requests), 4)

    def test_plain_http(self) -> None:
        """A redirect away from https is refused."""
        where = "http://127.0.0.1:{port}/x.git/info/refs?service=git-upload-pack"
        message = self.redirecting(where)
        self.assertEqual(message, "clone_failed: redirect refused: not to an https URL")

    def test_other_host(self) -> None:
        """A redirect to another host is refused, though it be the same machine."""
        where = "https://localhost:{port}/x.git/info/refs?service=git-upload-pack"
        message = self.redirecting(where)
        self.assertEqual(message, "clone_failed: redirect refused: to another host")

    def test_password(self) -> None:
        """A redirect to a URL with credentials is refused."""
        where = "https://me:pw@127.0.0.1:{port}/x/info/refs?service=git-upload-pack"
        self.assertIn("redirect refused", self.redirecting(where))

    def test_elsewhere(self) -> None:
        """A redirect to a page, such as a login, is refused."""
        message = self.redirecting("https://127.0.0.1:{port}/login")
        self.assertIn("redirect refused: not to a git repository", message)
        self.assertIn("redirect refused", self.redirecting(""))

    def test_second_request(self) -> None:
        """Only the first request of a clone may be redirected."""

        def script(line: str, body: bytes) -> Iterable[bytes]:
            if line.startswith("GET"):
                return GOOD(line, body)
            where = "/y.git/info/refs?service=git-upload-pack"
            return [respond("302 x", Location=where)]

        server = self.rogue(script)
        message = self.refusal(server.url, self.cloner(server.ca_file))
        self.assertIn("redirect refused", message)


class AnswerTests(CloneTestCase):
    """What a server answers."""

    def answer(self, *pieces: bytes) -> str:
        """The refusal of these bytes as an answer."""
        server = self.rogue(lambda line, body: pieces)
        return self.refusal(server.url, self.cloner(server.ca_file))

    def test_statuses(self) -> None:
        """Another status than 200 is reported, and what it probably means."""
        for status in (401, 403, 404):
            message = self.answer(respond(f"{status} SERVERTEXT", b"SERVERTEXT"))
            words = "no such repository, or a private one"
            expected = f"clone_failed: the host answered HTTP status {status}: {words}"
            self.assertEqual(message, expected)
        message = self.answer(respond("503 x"))
        self.assertEqual(message, "clone_failed: the host answered HTTP status 503")

    def test_compressed(self) -> None:
        """An answer in a content encoding nobody asked for is refused."""
        message = self.answer(respond("200 OK", b"x", Content_Encoding="gzip"))
        self.assertIn("compressed unasked", message)

    def test_not_http(self) -> None:
        """Bytes that are no HTTP answer are refused."""
        self.assertIn("clone_failed: ", self.answer(b"SSH-2.0-OpenSSH\r\n\r\n"))

    def test_endless_headers(self) -> None:
        """Headers and interim answers count as received bytes."""

        def script(line: str, body: bytes) -> Iterable[bytes]:
            while True:
                yield b"HTTP/1.1 100 Continue\r\n\r\n" * 1000

        server = self.rogue(script)
        cloner = self.cloner(server.ca_file, received_bytes=500_000)
        message = self.refusal(server.url, cloner)
        self.assertEqual(message, "clone_failed: more than 500000 bytes received")

    def test_cut_off_answer(self) -> None:
        """A body that ends before its length is a connection that broke off."""
        kind = "application/x-git-upload-pack-advertisement"
        whole = respond("200 OK", b"001e# service=git-upload-pack\n", Content_Type=kind)
        message = self.answer(whole[:-10])
        self.assertIn("clone_failed: ", message)

    def test_error_packet(self) -> None:
        """What the server sends in git's protocol is not repeated."""
        kind = "application/x-git-upload-pack-advertisement"
        body = b"001e# service=git-upload-pack\n0000" + b"0012ERR SERVERTEXT"
        message = self.answer(respond("200 OK", body, Content_Type=kind))
        self.assertNotIn("SERVERTEXT", message)

    def test_pack_elsewhere(self) -> None:
        """A server cannot send a clone to another host for the pack."""
        server = self.opened(self.rogue(lambda line, body: []))
        for url in ("https://localhost/x", "http://127.0.0.1/x"):
            error = self.assertRaises(http.BridgeError, server.request, url, {}, None)
            self.assertIn("names another host", error.message)

    def opened(self, rogue: RogueServer) -> http.Server:
        """A ``Server`` for a rogue; it sends nothing."""
        return http.open_server(
            rogue.url,
            mock.NonCallableMock(),
            ca_file=rogue.ca_file,
            public_only=False,
            look_up=socket.getaddrinfo,
        )

    def test_connection_is_kept(self) -> None:
        """All requests of one clone share a connection when the server lets them."""
        dialled = []

        def look_up(*asked: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
            dialled.append(asked)
            return [(2, 1, 6, "", ("127.0.0.1", self.forge.port))]

        (self.base / "w").mkdir()
        (self.base / "w" / "x").write_bytes(b"")
        self.forge.publish(self.base / "w", "kept")
        self.clone(self.forge.url("kept"), evolve(self.cloner(), look_up=look_up))
        self.assertEqual(len(dialled), 1)
