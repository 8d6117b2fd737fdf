"""URLs, redirects and answers: the last two from a real TLS server."""

import tracemalloc
from collections.abc import Iterable
from unittest.mock import ANY

from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from bridge.http.client import HostTLS
from bridge.plugins.clone.server import Server, _read_offer, check_url
from bridge.protocol.errors import BridgeError
from bridge.protocol.limits import MIB, URL_CHARACTERS

from ...forge import packet, respond, serve_pack
from .clones import CloneTestCase
from .packs import FILE, blob, commit, make_pack, packed, tree

ADVERTISEMENT = "application/x-git-upload-pack-advertisement"
FILES = blob(b"content")
ROOT = tree((FILE, b"x", FILES))
TIP = commit(ROOT)
GOOD = serve_pack(make_pack(*map(packed, (TIP, ROOT, FILES))), TIP.name.hex())


class RedirectTests(CloneTestCase):
    async def redirecting(self, location, times=1, status="302 x"):
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
            # Then it closes the connection, as some do without a word.
            return [respond(status, Location=target, Connection="keep-alive")]

        self.server = server = self.rogue(script)
        cloner = self.cloner(server.ca_file)
        if location.startswith("/"):
            await self.cloning(server.url, cloner)
            return ""
        return await self.refusal(server.url, cloner)

    async def test_same_host(self) -> None:
        """Three redirects on the same host are followed, and kept to."""
        for status in ("301 x", "302 x", "303 x", "307 x", "308 x"):
            where = f"/moved{status[:3]}-{{n}}.git/info/refs?service=git-upload-pack"
            await self.redirecting(where, times=3, status=status)
            self.assertEqual((self.into / "x").read_bytes(), b"content")
            path = f"/moved{status[:3]}-2.git/git-upload-pack"
            self.assertIn(path, self.server.requests[-1])
            self.into.rename(self.base / status[:3])

    async def test_other_port(self) -> None:
        """A redirect to another port of the same host is followed."""
        other = self.rogue(GOOD)
        where = f"https://127.0.0.1:{other.port}/y/info/refs?service=git-upload-pack"
        server = self.rogue(lambda line, body: [respond("302 x", Location=where)])
        await self.cloning(f"{server.url}/", self.cloner(server.ca_file))
        self.assertEqual(len(server.requests), 1)
        # A slash at the end is not doubled.
        self.assertNotIn("//", server.requests[0])
        self.assertEqual(len(other.requests), 2)

    async def test_attack_elsewhere(self) -> None:
        """Redirects end after three, and lead to no other host, scheme or page."""
        at, query = "127.0.0.1:{port}", "info/refs?service=git-upload-pack"
        for location, words in (
            (f"https://{at}/x.git/{query}", "too many"),
            (f"http://{at}/x.git/{query}", "not to an https URL"),
            (f"file:///x.git/{query}", "not to an https URL"),
            (f"https://localhost:{{port}}/x.git/{query}", "to another host"),
            (f"https://me:pw@{at}/x/{query}", "not to an https URL"),
            (f"https://[x]/x/{query}", "not to an https URL"),
            (f"https://{at}/login", "not to a git repository"),
            ("", "not to a git repository"),
        ):
            message = await self.redirecting(location, times=100)
            self.assertEqual(message, f"clone_failed: redirect refused: {words}")
            tries = 4 if words == "too many" else 1
            self.assertEqual(len(self.server.requests), tries)


class ClosedTests(CloneTestCase):
    """Servers that close a connection which they seem to keep."""

    async def test_closed_without_a_word(self) -> None:
        """The next request is sent again, once, over another connection."""

        def script(line: str, body: bytes) -> Iterable[bytes]:
            for piece in GOOD(line, body):
                yield piece.replace(b"Connection: close", b"Connection: keep-alive")

        server = self.rogue(script)
        await self.cloning(server.url, self.cloner(server.ca_file))
        self.assertEqual((self.into / "x").read_bytes(), b"content")

    async def test_closed_again_and_again(self) -> None:
        """A request that is never answered is given up."""

        def script(line: str, body: bytes) -> Iterable[bytes]:
            if line.startswith("GET"):
                refs = b"".join(GOOD(line, body))
                yield refs.replace(b"Connection: close", b"Connection: keep-alive")

        server = self.rogue(script)
        message = await self.refusal(server.url, self.cloner(server.ca_file))
        self.assertRegex(message, "^clone_failed: .* is not HTTP, or broke off")
        self.assertLessEqual(len(server.requests), 3)


class AnswerTests(CloneTestCase):
    async def answer(self, *pieces: bytes, later: bool = False) -> str:
        """The refusal of these bytes as an answer, to the second request if later."""

        def script(line: str, body: bytes) -> Iterable[bytes]:
            return GOOD(line, body) if later and line.startswith("GET") else pieces

        server = self.rogue(script)
        return await self.refusal(server.url, self.cloner(server.ca_file))

    async def test_second_request(self) -> None:
        """Only the first request of a clone may be redirected."""
        where = "/y.git/info/refs?service=git-upload-pack"
        message = await self.answer(respond("302 x", Location=where), later=True)
        self.assertIn("redirect refused", message)

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

    async def test_error_packet(self) -> None:
        """What the server says in git's protocol is shown as one short line."""
        said = b"ERR \x1b[31mNo\nsuch\xff" + b"x" * 500
        body = b"001e# service=git-upload-pack\n0000%04x%s" % (len(said) + 4, said)
        message = await self.refs(body)
        start = 'clone_failed: the host refused: "Nosuch\ufffd'
        self.assertEqual(message, start + "x" * 113 + '"')

    async def test_error_in_place_of_a_pack(self) -> None:
        """So is what it says when it fails later."""
        failing = packet(b"packfile\n") + packet(b"\x03out of `memory`\n") + b"0000"
        message = await self.answer(respond("200 OK", failing), later=True)
        self.assertEqual(message, "clone_failed: the host refused: \"out of 'memory'\"")

    async def test_content_type_with_parameters(self) -> None:
        """Media types may have parameters, and be written in any case."""

        def script(line: str, sent: bytes) -> Iterable[bytes]:
            for answer in GOOD(line, sent):
                head, blank, content = answer.partition(b"\r\n\r\n")
                typed = head.replace(b"application/x-git", b"Application/X-Git")
                yield typed + b" ; charset=utf-8" + blank + content

        server = self.rogue(script)
        tip = await self.cloning(server.url, self.cloner(server.ca_file))
        self.assertEqual(tip, TIP.name.hex())

    async def refs(self, body: bytes, kind: str = ADVERTISEMENT) -> str:
        """The refusal of a server that answers this to the first request."""
        return await self.answer(respond("200 OK", body, Content_Type=kind))

    async def test_attack_another_content_type(self) -> None:
        """What only begins like the media type of git is refused."""
        for kind in (f"{ADVERTISEMENT}2", "text/html", ""):
            message = await self.refs(b"", kind)
            self.assertEqual(message, "clone_failed: not a git repository")

    async def test_attack_refs(self) -> None:
        """Refs that are none, or of what we can't fetch, are refused."""
        for line, words in (
            (b"ab" * 32 + b" HEAD\0shallow object-format=sha256\n", "not SHA-1"),
            (b"ab" * 20 + b" HEAD\0side-band-64k\n", "cannot send a single commit"),
            (b"\xff", "empty or has no default branch"),
            (b"HEAD", "empty or has no default branch"),
            (b"x y z\0", "empty or has no default branch"),
            (b"x HEAD\0", "not SHA-1"),
            (b"object-format=sha256\n", "not SHA-1"),
        ):
            is_line = not line.startswith(b"object-format")
            begun = b"# service=git-upload-pack\n" if is_line else b"version 2\n"
            start = packet(begun) + b"0000" * is_line
            message = await self.refs(start + packet(line) + b"0000")
            self.assertIn(words, message)
            self.assertTrue(message.startswith("clone_failed: "), message)

    async def test_attack_packets(self) -> None:
        """Lengths that are none, or lead out of the answer, are refused."""
        for length in (b"0003", b"zzzz", b"+00a", b"0_0a", b"ffff", b"00"):
            message = await self.refs(length + b"xxxxxx")
            self.assertIn("not git's protocol", message, length)
        # Of any number of them there is no list.
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        _read_offer(b"000eversion 2\n" + b"0006ab" * 50_000, lambda: None)
        self.assertLess(tracemalloc.get_traced_memory()[1], MIB)

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
        url = self.publish(FILES, ROOT, TIP).replace("127.0.0.1", "localhost")
        await self.cloning(url)
        self.assertEqual((looked_up, len(connected)), (["localhost"], 1))


class CheckUrlTests(SynchronousTestCase):
    def rule(self, url: str) -> str:
        error = self.assertRaises(BridgeError, check_url, url)
        start, _, rule = error.message.partition("not_https: url: ")
        self.assertEqual(start, "")
        return str(rule)

    def test_accepted(self) -> None:
        """A URL is returned as it was given."""
        for url in (
            "https://example.org/me/plugin.git",
            "https://Example.ORG/me/plugin",
            "https://example.org:8443/~me/a%20b/",
            "https://192.168.1.5/x",
            "https://[2001:db8::1]:443/x",
            "https://forge_1.lan/@me/x;y=(1)",
            "https://example.org",
            "https://example.org./x",
            "https://example.org/" + "x" * (URL_CHARACTERS - 20),
        ):
            self.assertEqual(check_url(url), url)

    def test_attack_refused(self) -> None:
        """Any other URL is refused by a rule that is named."""
        scheme, host = "must start with https://", "the host is not a host name"
        dots = "no . or .. between the slashes of its path"
        characters = "only the characters of a URL, without spaces or control"
        at = "https://example.org/{}"
        for rule, url, parts in (
            (scheme, "{}", ("file:///etc", "https:/example.org", "")),
            (
                scheme,
                "{}example.org/x",
                ("http://", "git://", "ssh://g@", "g@", " https://", "HTTPS://"),
            ),
            ("at most 512 characters", at, ["x" * (URL_CHARACTERS - 19)]),
            ("no fragment", at, ("x#", "x#main")),
            ("no query", at, ["x?y=1"]),
            # Credentials never get into records, prompts and logs.
            ("no user name or password", "https://{}@example.org/x", ("me", "a@b")),
            # A client leaves these out before it asks: for another one than was shown.
            (dots, at, ("trusted/../../evil.git", "trusted/./x.git", "..")),
            (dots, at, ("trusted/%2e%2E/evil.git", "trusted/.%2e/evil.git")),
            (dots, at, ["trusted/" + "x/../" * 40 + "../evil.git"]),
            (host, "https://{}", ("", "/x", ":443/x")),
            ("", "https://{}/x", ("x" * 64, "a;b", "a,b", "a%41", "\u2100.org")),
            ("", "https://example.org:{}/x", ("0", "22", "65536", "x", "-1", "1:2")),
            (characters, f"{at}b", ' \t\r\n\0\x7f\\<>"{}|^`\u00e9\u202e\uff0f\u3002'),
        ):
            for part in parts:
                found = self.rule(url.format(part))
                self.assertTrue(found.startswith(rule), (url, part, found))
        check_url("https://example.org/a..b/...git/.hidden")


class ReceivedTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.time = 100.0
        self.progress: list[int] = []
        counted = Server(
            "", ANY, ANY, 100, ANY, lambda: self.time, self.progress.append
        )
        self.received = counted.received

    def test_bytes(self) -> None:
        """The limit of received bytes may be reached but not passed."""
        self.received(100)
        error = self.assertRaises(BridgeError, self.received, 1)
        self.assertEqual(error.message, "clone_failed: more than 100 bytes received")

    def test_progress(self) -> None:
        """Progress is reported at most five times a second."""
        for _ in range(40):
            self.received(1)
            self.time += 0.0625
        self.assertEqual(self.progress, list(range(1, 41, 4)))
