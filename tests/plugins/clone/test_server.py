"""Redirects and answers, from a real TLS server."""

from __future__ import annotations

from collections.abc import Iterable

from twisted.internet.defer import Deferred, succeed

from bridge.http.trust import HostTLS

from ...forge import respond, serve_pack
from .clones import CloneTestCase
from .packs import FILE, blob, commit, make_pack, packed, tree

FILES = blob(b"content")
ROOT = tree((FILE, b"x", FILES))
TIP = commit(ROOT)
GOOD = serve_pack(make_pack(*map(packed, (TIP, ROOT, FILES))), TIP.name.hex())


class RedirectTests(CloneTestCase):
    """Redirects."""

    async def redirecting(
        self, location: str, times: int = 1, status: str = "302 x"
    ) -> str:
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
            await self.clone(server.url, cloner)
            return ""
        return await self.refusal(server.url, cloner)

    async def test_same_host(self) -> None:
        """A redirect on the same host is followed, and kept to."""
        for status in ("301 x", "302 x", "303 x", "307 x", "308 x"):
            where = f"/moved{status[:3]}.git/info/refs?service=git-upload-pack"
            await self.redirecting(where, status=status)
            self.assertEqual((self.into / "x").read_bytes(), b"content")
            path = f"/moved{status[:3]}.git/git-upload-pack"
            self.assertIn(path, self.server.requests[-1])
            self.into.rename(self.base / status[:3])

    async def test_three(self) -> None:
        """Three redirects are followed."""
        await self.redirecting("/n{n}/info/refs?service=git-upload-pack", times=3)
        self.assertTrue(self.into.exists())

    async def test_other_port(self) -> None:
        """A redirect to another port of the same host is followed."""
        other = self.rogue(GOOD)
        where = f"https://127.0.0.1:{other.port}/y/info/refs?service=git-upload-pack"
        server = self.rogue(lambda line, body: [respond("302 x", Location=where)])
        await self.clone(server.url, self.cloner(server.ca_file))
        self.assertEqual(len(server.requests), 1)
        self.assertEqual(len(other.requests), 2)

    async def test_loop(self) -> None:
        """A loop ends after three."""
        where = "https://127.0.0.1:{port}/x.git/info/refs?service=git-upload-pack"
        message = await self.redirecting(where, times=100)
        self.assertEqual(message, "clone_failed: redirect refused: too many")
        self.assertEqual(len(self.server.requests), 4)

    async def test_plain_http(self) -> None:
        """A redirect away from https is refused."""
        where = "http://127.0.0.1:{port}/x.git/info/refs?service=git-upload-pack"
        message = await self.redirecting(where)
        self.assertEqual(message, "clone_failed: redirect refused: not to an https URL")

    async def test_other_host(self) -> None:
        """A redirect to another host is refused, though it be the same machine."""
        where = "https://localhost:{port}/x.git/info/refs?service=git-upload-pack"
        message = await self.redirecting(where)
        self.assertEqual(message, "clone_failed: redirect refused: to another host")

    async def test_password(self) -> None:
        """A redirect to a URL with credentials is refused."""
        where = "https://me:pw@127.0.0.1:{port}/x/info/refs?service=git-upload-pack"
        self.assertIn("redirect refused", await self.redirecting(where))

    async def test_elsewhere(self) -> None:
        """A redirect to a page, such as a login, is refused."""
        message = await self.redirecting("https://127.0.0.1:{port}/login")
        self.assertIn("redirect refused: not to a git repository", message)
        self.assertIn("redirect refused", await self.redirecting(""))

    async def test_second_request(self) -> None:
        """Only the first request of a clone may be redirected."""

        def script(line: str, body: bytes) -> Iterable[bytes]:
            if line.startswith("GET"):
                return GOOD(line, body)
            where = "/y.git/info/refs?service=git-upload-pack"
            return [respond("302 x", Location=where)]

        server = self.rogue(script)
        message = await self.refusal(server.url, self.cloner(server.ca_file))
        self.assertIn("redirect refused", message)


class AnswerTests(CloneTestCase):
    """What a server answers."""

    async def answer(self, *pieces: bytes) -> str:
        """The refusal of these bytes as an answer."""
        server = self.rogue(lambda line, body: pieces)
        return await self.refusal(server.url, self.cloner(server.ca_file))

    async def test_statuses(self) -> None:
        """Another status than 200 is reported, and what it probably means."""
        for status in (401, 403, 404):
            message = await self.answer(respond(f"{status} SERVERTEXT", b"SERVERTEXT"))
            words = "no such repository, or a private one"
            expected = f"clone_failed: the host answered HTTP status {status}: {words}"
            self.assertEqual(message, expected)
        message = await self.answer(respond("503 x"))
        self.assertEqual(message, "clone_failed: the host answered HTTP status 503")

    async def test_compressed(self) -> None:
        """An answer in a content encoding nobody asked for is refused."""
        message = await self.answer(respond("200 OK", b"x", Content_Encoding="gzip"))
        self.assertIn("compressed unasked", message)

    async def test_not_http(self) -> None:
        """Bytes that are no HTTP answer are refused."""
        self.assertIn("clone_failed: ", await self.answer(b"SSH-2.0-OpenSSH\r\n\r\n"))

    async def test_endless_headers(self) -> None:
        """Interim answers end at once; what else is received is counted."""

        def script(line: str, body: bytes) -> Iterable[bytes]:
            while True:
                yield b"HTTP/1.1 100 Continue\r\n\r\n" * 1000

        server = self.rogue(script)
        message = await self.refusal(server.url, self.cloner(server.ca_file))
        self.assertIn("too many interim responses", message)

    async def test_cut_off_answer(self) -> None:
        """A body that ends before its length is a connection that broke off."""
        kind = "application/x-git-upload-pack-advertisement"
        whole = respond("200 OK", b"001e# service=git-upload-pack\n", Content_Type=kind)
        message = await self.answer(whole[:-10])
        self.assertIn("clone_failed: ", message)

    async def test_error_packet(self) -> None:
        """What the server says in git's protocol is shown as one short line."""
        kind = "application/x-git-upload-pack-advertisement"
        said = b"ERR \x1b[31mNo\nsuch\xff" + b"x" * 500
        body = b"001e# service=git-upload-pack\n0000%04x%s" % (len(said) + 4, said)
        message = await self.answer(respond("200 OK", body, Content_Type=kind))
        start = 'clone_failed: the host refused: "Nosuch\ufffd'
        self.assertEqual(message, start + "x" * 113 + '"')

    async def test_connection_is_kept(self) -> None:
        """All requests of one clone share a connection when the server lets them."""
        looked_up = []
        connected = []

        def look_up(host: str) -> Deferred[list[str]]:
            looked_up.append(host)
            return succeed(["127.0.0.1"])

        self.patch(self, "look_up", look_up)
        make = HostTLS.clientConnectionForTLS

        def counted(tls: HostTLS, protocol: object) -> object:
            connected.append(tls)
            return make(tls, protocol)

        self.patch(HostTLS, "clientConnectionForTLS", counted)
        (self.base / "w").mkdir()
        (self.base / "w" / "x").write_bytes(b"")
        self.forge.publish(self.base / "w", "kept")
        url = self.forge.url("kept").replace("127.0.0.1", "localhost")
        await self.clone(url)
        self.assertEqual((looked_up, len(connected)), (["localhost"], 1))
