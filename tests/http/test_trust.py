"""TLS: whose certificate is believed, and for whom."""

import os

from bridge.http import trust as trusting
from bridge.http.trust import Trust
from bridge.protocol.errors import BridgeError, Code

from ..certificates import without_alternative_names
from ..directories import fresh_directory
from ..outbound import servers

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
        """Another name, only the common name, too late, or of nobody's authority."""
        for context in (
            self.certificates.context("evil.net", "*.good.net"),
            servers.Context(without_alternative_names("good.net")),
            self.certificates.context("good.net", days=2),
            servers.Certificates("other").context("good.net"),
        ):
            self.assertEqual(await self.from_server(context), UNTRUSTED)

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
        self.patch(trusting, "trust_store_paths", lambda: {"cafile": str(ca_file)})
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
