"""TLS: whose certificate is believed, and for whom."""

from __future__ import annotations

import os
import ssl
from typing import Any

from twisted.internet import reactor

from bridge.net import certificates as authorities
from bridge.outbound.httpclient import make_client
from bridge.protocol.errors import BridgeError, Code

from ..directories import fresh_directory
from .servers import HERE, Certificates, OutboundCase, responding, sending

UNTRUSTED = (
    Code.UNAVAILABLE,
    "the server's certificate is not to be trusted for this host",
)


class CertificateTests(OutboundCase):
    """Fetches from real TLS servers."""

    def setUp(self):
        """Trust one authority; every name leads here."""
        super().setUp()
        self.certificates = Certificates()
        self.trusted = [self.certificates.pem]
        self.names = {name: [HERE] for name in ("good.net", "evil.net")}

    async def from_server(self, context: Any, host: str = "good.net") -> Any:
        """Fetch from a server with this context: the body, or the refusal."""
        port = self.serve(responding(b"text"), context)
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
        good = self.certificates.context(HERE)
        self.assertEqual(await self.from_server(good, HERE), "text")
        other = self.certificates.context("127.0.0.2", "good.net")
        self.assertEqual(await self.from_server(other, HERE), UNTRUSTED)

    async def test_name_that_no_certificate_is_checked_for(self):
        """A name that DNS has and IDNA has not is refused, not taken for a defect."""
        context = self.certificates.context("good.net")
        for host in ("a_b.net", "r3---sn.net"):
            self.names[host] = [HERE]
            answer = await self.from_server(context, host)
            self.assertEqual(
                answer,
                (
                    Code.BAD_REQUEST,
                    "url: not a valid host name for TLS (IDNA)",
                ),
            )

    async def test_attack_wrong_name(self):
        """A good certificate of somebody else."""
        context = self.certificates.context("evil.net", "*.good.net")
        self.assertEqual(await self.from_server(context), UNTRUSTED)

    async def test_attack_expired(self):
        """A certificate that has expired."""
        context = self.certificates.context("good.net", days=2)
        self.assertEqual(await self.from_server(context), UNTRUSTED)

    async def test_attack_other_authority(self):
        """A certificate whose authority nobody trusts."""
        context = Certificates("other").context("good.net")
        self.assertEqual(await self.from_server(context), UNTRUSTED)

    async def test_attack_plain_http_behind_https(self):
        """A server that does not speak TLS."""
        port = self.serve(sending(b"HTTP/1.1 200 OK\r\n\r\n", close=True), greets=True)
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
        self.trusted = None
        context = self.certificates.context("good.net")
        self.assertEqual(await self.from_server(context), UNTRUSTED)

    async def test_large_body(self):
        """A large body comes whole through TLS."""
        context = self.certificates.context("good.net")
        port = self.serve(responding(b"x" * 5_000_000), context)
        answer = await self.fetch(f"https://good.net:{port}/")
        self.assertEqual(len(answer["body"]), 5_000_000)

    async def test_attack_connection_for_another_host(self):
        """No connection serves two hosts, though both have one address."""
        port = self.serve(
            responding(b"text"), self.certificates.context("good.net", "evil.net")
        )
        for host in ("good.net", "evil.net", "good.net"):
            await self.fetch(f"https://{host}:{port}/")
        self.assertEqual(len(self.server.visits), 3)

    def test_system_authorities(self):
        """Those of the system are read once each, from where OpenSSL looks."""
        found = authorities.certificates()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        for text in found:
            context.load_verify_locations(cadata=text.decode("ascii"))
        self.assertEqual(context.cert_store_stats()["x509_ca"], len(found))
        self.assertTrue(make_client(reactor))
