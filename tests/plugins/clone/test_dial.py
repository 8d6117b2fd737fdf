"""Whom a clone connects to, and whom it trusts."""

from __future__ import annotations

import socket
import threading
import time

from bridge.net import addresses
from bridge.net.certificates import tls_context
from bridge.plugins.clone.cloner import GitCloner
from bridge.plugins.clone.dial import NotPublicError

from .clones import CloneTestCase


class TrustTests(CloneTestCase):
    """Whom a clone trusts."""

    def test_system_authorities(self) -> None:
        """The system's authorities are trusted in addition to the given file's."""
        alone = tls_context(self.forge.ca_file).cert_store_stats()["x509_ca"]
        self.assertGreaterEqual(alone, 1)

    def test_not_tls(self) -> None:
        """A server that does not speak TLS has an error of its own."""
        with socket.create_server(("127.0.0.1", 0)) as listening:

            def greet() -> None:
                connection, _ = listening.accept()
                with connection:
                    connection.sendall(b"220 hello\r\n")
                    connection.recv(1000)

            thread = threading.Thread(target=greet)
            thread.start()
            port = listening.getsockname()[1]
            message = self.refusal(f"https://127.0.0.1:{port}/x.git")
            thread.join()
        self.assertEqual(message, "clone_failed: no TLS connection with the host")

    def test_second_address(self) -> None:
        """When one address does not answer, the next one is tried."""
        (self.base / "w").mkdir()
        (self.base / "w" / "x").write_bytes(b"")
        self.forge.publish(self.base / "w", "second")
        addresses = [("127.0.0.1", 1), ("127.0.0.1", self.forge.port)]
        cloner = GitCloner(
            self.forge.ca_file,
            False,
            time.monotonic,
            look_up=lambda *_: [(2, 1, 6, "", address) for address in addresses],
        )
        self.clone(self.forge.url("second"), cloner)
        self.assertTrue((self.into / "x").exists())


class PublicOnlyTests(CloneTestCase):
    """``--public-clones-only``."""

    def refused(self, url: str, *addresses: str) -> None:
        """A host with these addresses is refused before it is dialled."""
        answers = [(2, 1, 6, "", (address, 1)) for address in addresses]
        cloner = GitCloner(None, True, time.monotonic, look_up=lambda *_: answers)
        message = self.refusal(url, cloner)
        self.assertEqual(
            message, "clone_failed: the host is not on the public internet"
        )

    def test_loopback_address(self) -> None:
        """A loopback address is refused."""
        cloner = GitCloner(self.forge.ca_file, True, time.monotonic)
        message = self.refusal(self.forge.url("x"), cloner)
        self.assertIn("not on the public internet", message)

    def test_local_name(self) -> None:
        """A name reserved for local use is refused whatever it resolves to."""
        self.refused("https://forge.localhost/x.git", "8.8.8.8")

    def test_private_answer(self) -> None:
        """A public name with a private address is refused."""
        self.refused("https://forge.example.org/x.git", "10.0.0.1")

    def test_mixed_answers(self) -> None:
        """One private address among public ones is enough."""
        self.refused("https://forge.example.org/x.git", "8.8.8.8", "192.168.1.1")

    def test_decimal_address(self) -> None:
        """Another spelling of an address is validated by what it resolves to."""
        cloner = GitCloner(None, True, time.monotonic)
        message = self.refusal("https://2130706433/x.git", cloner)
        self.assertIn("not on the public internet", message)

    def test_checked_address_is_dialled(self) -> None:
        """The name is resolved once; what was validated is what is connected to."""
        (self.base / "w").mkdir()
        (self.base / "w" / "x").write_bytes(b"")
        self.forge.publish(self.base / "w", "public")
        asked: list[object] = []
        checked: list[str] = []

        def look_up(*question: object) -> list[tuple[int, int, int, str, object]]:
            asked.append(question)
            return [(2, 1, 6, "", ("127.0.0.1", self.forge.port))]

        def is_public(address: str) -> bool:
            checked.append(address)
            return True

        self.patch(addresses, "is_public", is_public)
        self.patch(addresses, "is_own", lambda address: False)
        cloner = GitCloner(self.forge.ca_file, True, time.monotonic, look_up=look_up)
        self.clone(self.forge.url("public"), cloner)
        self.assertEqual(len(asked), 1)
        self.assertEqual(checked, ["127.0.0.1"])

    def test_own_address(self) -> None:
        """A public address that is this machine's own is refused."""
        self.patch(addresses, "is_public", lambda address: True)
        self.refused("https://forge.example.org/x.git", "127.0.0.1")


class AllowedTests(CloneTestCase):
    """Private hosts that a user has allowed."""

    def allowing(self, *addresses: str, allowed: str) -> GitCloner:
        """A cloner for public hosts, and what is allowed, with a look-up's answers."""
        answers = [(2, 1, 6, "", (address, self.forge.port)) for address in addresses]
        cloner = GitCloner(
            self.forge.ca_file, False, time.monotonic, look_up=lambda *_: answers
        )
        return cloner.public(frozenset([allowed]))

    def publish(self) -> str:
        """Publish something; returns its URL."""
        (self.base / "w").mkdir()
        (self.base / "w" / "x").write_bytes(b"")
        self.forge.publish(self.base / "w", "private")
        return self.forge.url("private")

    def test_allowed_address(self) -> None:
        """An address that was allowed is dialled."""
        url = self.publish()
        self.clone(url, self.allowing("127.0.0.1", allowed="127.0.0.1"))
        self.assertTrue((self.into / "x").exists())

    def test_addresses_are_named(self) -> None:
        """The refusal has the addresses that are not public, for a prompt."""
        cloner = self.allowing("8.8.8.8", "10.0.0.1", "192.168.1.1", allowed="10.0.0.2")
        with self.assertRaises(NotPublicError) as caught:
            self.clone("https://forge.example.org/x.git", cloner)
        self.assertEqual(caught.exception.addresses, ("10.0.0.1", "192.168.1.1"))

    def test_attack_rebinding_after_the_prompt(self) -> None:
        """A name that leads to another private address by then is refused."""
        cloner = self.allowing("127.0.0.1", allowed="192.168.1.5")
        with self.assertRaises(NotPublicError):
            self.clone(self.publish(), cloner)

    def test_attack_another_host(self) -> None:
        """A private name that was allowed allows no other one."""
        cloner = self.allowing("127.0.0.1", allowed="forge.localhost")
        with self.assertRaises(NotPublicError) as caught:
            self.clone("https://other.localhost/x.git", cloner)
        self.assertEqual(caught.exception.addresses, ())

    def test_allowed_name(self) -> None:
        """A private name that was allowed is resolved and dialled."""
        url = self.publish().replace("127.0.0.1", "localhost")
        self.clone(url, self.allowing("127.0.0.1", allowed="localhost"))
        self.assertTrue((self.into / "x").exists())
