"""Tests of ``bridge.plugins.clone.repositories``: whom a clone connects to."""

from __future__ import annotations

import socket
import threading
from urllib.parse import urlsplit

from bridge.http.addresspolicy import NotPublicError
from bridge.net import addresses

from .clones import CloneTestCase


class DialTests(CloneTestCase):
    """Whom a clone connects to."""

    async def publish(self) -> str:
        """Publish something; returns its URL."""
        (self.base / "w").mkdir()
        (self.base / "w" / "x").write_bytes(b"")
        self.forge.publish(self.base / "w", "dialled")
        return self.forge.url("dialled")

    async def test_not_tls(self) -> None:
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
            message = await self.refusal(f"https://127.0.0.1:{port}/x.git")
            thread.join()
        self.assertEqual(
            message, "clone_failed: the server does not speak TLS as it should"
        )

    async def test_second_address(self) -> None:
        """When one address does not answer, the next one is tried."""
        self.names["localhost"] = ["127.0.0.9", "127.0.0.1"]
        url = await self.publish()
        await self.clone(url.replace("127.0.0.1", "localhost"))
        self.assertTrue((self.into / "x").exists())

    async def refused(self, url: str, *found: str) -> tuple[str, ...]:
        """A host with these addresses is refused before it is dialled."""
        self.names[urlsplit(url).hostname or ""] = list(found)
        cloning = self.cloning(url, self.cloner().public())
        error = await self.assertFailure(cloning, NotPublicError)
        self.assertEqual(
            error.message, "clone_failed: the host is not on the public internet"
        )
        addresses: tuple[str, ...] = error.addresses
        return addresses

    async def test_public_only(self) -> None:
        """Public hosts only: private addresses and names are refused, and named."""
        for url, found, named in (
            ("https://127.0.0.1/x.git", (), ("127.0.0.1",)),
            ("https://2130706433/x.git", ("127.0.0.1",), ("127.0.0.1",)),
            ("https://forge.localhost/x.git", ("8.8.8.8",), ()),
            ("https://forge.example.org/x.git", ("10.0.0.1",), ("10.0.0.1",)),
            (
                "https://forge.example.org/x.git",
                ("8.8.8.8", "10.0.0.1", "192.168.1.1"),
                ("10.0.0.1", "192.168.1.1"),
            ),
        ):
            self.assertEqual(await self.refused(url, *found), named)

    async def test_own_address(self) -> None:
        """A public address that is this machine's own is refused."""
        self.patch(addresses, "is_public", lambda address: True)
        await self.refused("https://forge.example.org/x.git", "127.0.0.1")

    async def test_allowed(self) -> None:
        """An address or a private name that was allowed is dialled."""
        url = await self.publish()
        for host in ("127.0.0.1", "localhost"):
            also = frozenset({(host, self.forge.port)})
            at = url.replace("127.0.0.1", host)
            await self.clone(at, self.cloner().public(also))
            self.into.rename(self.base / host)

    async def test_attack_rebinding_after_the_prompt(self) -> None:
        """A name that leads to another private address by then is refused."""
        self.names["forge.example.org"] = ["127.0.0.1"]
        url = f"https://forge.example.org:{self.forge.port}/x.git"
        for allowed in (("192.168.1.5", self.forge.port), ("127.0.0.1", 443)):
            cloner = self.cloner().public(frozenset({allowed}))
            await self.assertFailure(self.cloning(url, cloner), NotPublicError)

    async def test_attack_another_host(self) -> None:
        """A private name that was allowed allows no other one."""
        cloner = self.cloner().public(frozenset({("forge.localhost", 443)}))
        cloning = self.cloning("https://other.localhost/x.git", cloner)
        error = await self.assertFailure(cloning, NotPublicError)
        self.assertEqual(error.addresses, ())
