"""Tests for bridge.http.client: hostile name servers, and whom TLS believes."""

import os
import socket
import threading
from typing import Any
from unittest import mock

from twisted.internet.defer import CancelledError
from twisted.trial.unittest import TestCase

from bridge.http import client
from bridge.http.client import SystemNames, Trust
from bridge.protocol import limits
from bridge.protocol.errors import BridgeError, Code

from ..certificates import without_alternative_names
from ..directories import fresh_directory
from ..reactors import reactor
from . import servers
from .servers import HERE, OutboundCase, responding

NOT_PUBLIC = (Code.BAD_REQUEST, "url: not a public address")


class HostileNameTests(OutboundCase):
    """
    Names whose server is the attacker's.

    The one allowed address and port stand for a public server; loopback on any other
    is what the attacker wants.
    """

    async def answer_of(self, port: int, *addresses: str) -> tuple[Code, str] | str:
        """Fetch from a name that has these addresses now."""
        self.names["evil.net"] = list(addresses)
        try:
            return str((await self.fetch(f"http://evil.net:{port}/"))["body"])
        except BridgeError as error:
            return error.code, error.message

    async def test_attack_rebinding(self) -> None:
        """A name is asked for each fetch, and the checked address is dialled."""
        port = self.serve(responding(b"public"))
        self.assertEqual(await self.answer_of(port, HERE), "public")
        self.assertEqual(await self.answer_of(port, "127.0.0.9"), NOT_PUBLIC)
        self.assertEqual(len(self.server.visits), 1)

    async def test_attack_no_answer_and_endless_ones(self) -> None:
        """A name without an address, and one with too many to check."""
        many = [f"1.1.{number}.1" for number in range(65)]
        for has, what in (
            ([], "could not be resolved"),
            (many, "has too many addresses"),
        ):
            found = await self.answer_of(80, *has)
            self.assertEqual(found, (Code.UNAVAILABLE, f"the host's name {what}"))


class SystemNamesTests(TestCase):
    def names(self, resolve: Any = socket.getaddrinfo) -> SystemNames:
        return SystemNames(reactor.callFromThread, resolve)

    async def test_system(self) -> None:
        """The system's resolver knows this machine."""
        self.assertIn("127.0.0.1", await self.names().look_up("localhost"))

    async def test_each_once(self) -> None:
        """Each address is given once, as text, by a thread that is a daemon."""
        asked: list[Any] = []

        def resolve(host: str, port: None, **options: int) -> list[tuple[Any, ...]]:
            asked.append((host, port, options, threading.current_thread().daemon))
            found = ["1.1.1.2", "fe80::1%2", "1.1.1.2"]
            return [(2, 1, 6, "", (address, 0)) for address in found]

        self.assertEqual(
            await self.names(resolve).look_up("a.net"), ["1.1.1.2", "fe80::1%2"]
        )
        options = {"type": socket.SOCK_STREAM}
        self.assertEqual(asked, [("a.net", None, options, True)])

    async def test_unknown(self) -> None:
        """What can't be resolved has no address."""
        resolve = mock.Mock(side_effect=socket.gaierror)
        self.assertEqual(await self.names(resolve).look_up("a.net"), [])
        self.assertEqual(await self.names().look_up("a" * 64 + ".net"), [])

    async def test_attack_look_ups_that_hang(self) -> None:
        """They are bounded; others wait, but for those of one page at its rate."""
        of_a_page = limits.RATE_BURST + 10 * limits.RATE_PER_SECOND
        self.assertGreater(limits.OUTBOUND_LOOK_UPS, of_a_page)
        go_on = threading.Event()
        self.patch(client, "OUTBOUND_LOOK_UPS", 1)
        asked: list[str] = []

        def resolve(host: str, *args: object, **kwargs: object) -> Any:
            asked.append(host)
            go_on.wait()
            return []

        system = self.names(resolve)
        hanging, joined = system.look_up("a.net"), system.look_up("a.net")
        waiting = [system.look_up(name) for name in ("b.net", "b.net", "c.net")]
        # More than calls can be nested.
        gone = [system.look_up(f"d{number}.net") for number in range(1000)]
        for one in (hanging, waiting[0], waiting[2], *gone):
            one.cancel()
            await self.assertFailure(one, CancelledError)
        self.assertEqual(asked, ["a.net"])  # cancelled, but its thread is still there
        self.assertEqual(list(system._waiting), ["b.net"])
        go_on.set()
        self.assertEqual([await joined, await waiting[1]], [[], []])
        self.assertEqual(asked, ["a.net", "b.net"])
        self.assertEqual(system._under_way, {})

    async def test_no_more_threads(self) -> None:
        """Without room for a thread a look-up fails, and takes up no place for good."""
        self.patch(client, "OUTBOUND_LOOK_UPS", 1)
        system = self.names(lambda *_, **__: [])
        full = mock.patch.object(threading.Thread, "start", side_effect=RuntimeError)
        for _ in range(2):
            with full:
                waiting = system.look_up("a.net")
            error = await self.assertFailure(waiting, BridgeError)
            self.assertIn("no room for another thread", error.message)
        self.assertEqual(await system.look_up("a.net"), [])


UNTRUSTED = (
    Code.UNAVAILABLE,
    "the server's certificate is not to be trusted for this host",
)


class CertificateTests(servers.OutboundCase):
    """Fetches from real TLS servers."""

    def setUp(self):
        super().setUp()
        self.certificates = servers.Certificates()
        self.trusted = [self.certificates.pem]
        self.names = {name: [servers.HERE] for name in ("good.net", "evil.net")}

    async def from_server(self, context, host: str = "good.net"):
        """Fetch from a server with this context: the body, or the refusal."""
        port = self.serve(servers.responding(b"text"), context)
        try:
            return (await self.fetch(f"https://{host}:{port}/"))["body"]
        except BridgeError as error:
            return error.code, error.message

    async def test_trusted(self):
        """A certificate of a trusted authority for the host's name; SNI is sent."""
        context = self.certificates.context("good.net")
        self.assertEqual(await self.from_server(context), "text")
        self.assertEqual(context.asked, [b"good.net"])

    async def test_address(self):
        """An address is compared with the addresses of the certificate."""
        good = self.certificates.context(servers.HERE)
        self.assertEqual(await self.from_server(good, servers.HERE), "text")
        other = self.certificates.context("127.0.0.2", "good.net")
        self.assertEqual(await self.from_server(other, servers.HERE), UNTRUSTED)

    async def test_names_of_no_idna(self):
        """A name that DNS has and IDNA has not is compared like any other."""
        context = self.certificates.context("*.good.net")
        for host in ("a_b.good.net", "r3---sn.good.net"):
            self.names[host] = [servers.HERE]
            self.assertEqual(await self.from_server(context, host), "text")

    async def test_attack_certificates(self):
        """Another name, only the common name, or of nobody's authority."""
        for context in (
            self.certificates.context("evil.net", "*.good.net"),
            servers.Context(without_alternative_names("good.net")),
            servers.Certificates("other").context("good.net"),
            servers.Certificates("other").context("good.net", days=-2),
        ):
            self.assertEqual(await self.from_server(context), UNTRUSTED)

    async def test_clock(self):
        """What only the clock speaks against names the clock."""
        for days, fault in ((-2, "has expired"), (2, "is not valid yet")):
            context = self.certificates.context("good.net", days=days)
            _, message = await self.from_server(context)
            wanted = f"the server's certificate {fault}, by this computer's clock"
            self.assertEqual(message, wanted)

    async def test_one_context(self):
        """All connections share a context, until the CA file changes."""
        ca_file = fresh_directory(self) / "ca.pem"
        ca_file.write_bytes(self.certificates.pem)
        trust = Trust(ca_file)
        self.assertIsNone(trust.current())
        context = trust.renewed()
        self.assertIs(trust.current(), context)
        ca_file.write_bytes(self.certificates.pem + b"\n")
        self.assertIsNone(trust.current())
        changed = trust.renewed()
        self.assertIsNot(changed, context)
        self.assertEqual([trust.current(), trust.renewed()], [changed] * 2)

    async def test_broken_ca_file(self):
        """A CA file that is gone, or holds no certificate, is named."""
        ca_file = fresh_directory(self) / "ca.pem"
        for content in (None, b"nothing"):
            if content is not None:
                ca_file.write_bytes(content)
            error = self.assertRaises(BridgeError, Trust(ca_file).renewed)
            self.assertEqual(error.message, "the CA file cannot be used")
        self.patch(client, "trust_store_paths", lambda: {"cafile": str(ca_file)})
        error = self.assertRaises(BridgeError, Trust(None).renewed)
        self.assertEqual(error.message, "the system's CA file cannot be used")

    async def test_attack_plain_http_behind_https(self):
        """A server that does not speak TLS."""
        port = self.serve(
            servers.sending(b"HTTP/1.1 200 OK\r\n\r\n", close=True), greets=True
        )
        self.assertEqual(
            await self.refusal(f"https://good.net:{port}/"),
            (Code.UNAVAILABLE, "the server does not speak TLS as it should"),
        )

    async def test_attack_environment(self):
        """An authority that the environment names is not trusted."""
        bundle = fresh_directory(self) / "bundle.pem"
        bundle.write_bytes(self.certificates.pem)
        os.environ["SSL_CERT_FILE"] = str(bundle)
        self.addCleanup(os.environ.pop, "SSL_CERT_FILE")
        self.trusted = []
        context = self.certificates.context("good.net")
        self.assertEqual(await self.from_server(context), UNTRUSTED)

    async def test_large_body(self):
        """A large body comes whole through TLS."""
        context = self.certificates.context("good.net")
        port = self.serve(servers.responding(b"x" * 5_000_000), context)
        answer = await self.fetch(f"https://good.net:{port}/")
        self.assertEqual(len(answer["body"]), 5_000_000)

    async def test_attack_connection_for_another_host(self):
        """No connection serves two hosts, though both have one address."""
        port = self.serve(
            servers.responding(b"text"),
            self.certificates.context("good.net", "evil.net"),
        )
        for host in ("good.net", "evil.net", "good.net"):
            await self.fetch(f"https://{host}:{port}/")
        self.assertEqual(len(self.server.visits), 3)
