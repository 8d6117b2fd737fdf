"""Tests of ``bridge.plugins.clone.gitprotocol``: what it fetches except clones."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bridge.plugins.clone.gitprotocol import Fetched, fetch

from ...forge import packet, respond, serve_pack
from .clones import CloneTestCase

ADVERTISEMENT = "application/x-git-upload-pack-advertisement"


class FetchTests(CloneTestCase):
    """``fetch``."""

    async def fetched(
        self, url: str, ca_file: Path | None = None, **wanted: Any
    ) -> Fetched:
        """Fetch from the forge, or from a server with this authority."""
        cloner = self.cloner(ca_file)
        return await cloner.opened(
            cloner.clones, url, lambda server: fetch(server, self.pool.call, **wanted)
        )

    async def test_content_type_with_parameters(self) -> None:
        """Media types may have parameters, and be written in any case."""
        serve = serve_pack(b"PACK", "ab" * 20)

        def script(line: str, sent: bytes) -> Iterable[bytes]:
            for answer in serve(line, sent):
                head, blank, content = answer.partition(b"\r\n\r\n")
                typed = head.replace(b"application/x-git", b"Application/X-Git")
                yield typed + b" ; charset=utf-8" + blank + content

        server = self.rogue(script)
        fetched = await self.fetched(server.url, server.ca_file)
        self.assertEqual(fetched, Fetched("ab" * 20, b"PACK"))

    async def refused(self, body: bytes, kind: str = ADVERTISEMENT) -> str:
        """The refusal of a server that answers this to the first request."""

        def script(line: str, sent: bytes) -> Iterable[bytes]:
            return [respond("200 OK", body, Content_Type=kind)]

        server = self.rogue(script)
        return await self.refusal(server.url, self.cloner(server.ca_file))

    async def test_attack_another_content_type(self) -> None:
        """What only begins like the media type of git is refused."""
        for kind in (f"{ADVERTISEMENT}2", "text/html", ""):
            message = await self.refused(b"", kind)
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
        ):
            start = packet(b"# service=git-upload-pack\n") + b"0000"
            message = await self.refused(start + packet(line) + b"0000")
            self.assertIn(words, message)
            self.assertTrue(message.startswith("clone_failed: "), message)

    async def test_attack_packets(self) -> None:
        """Lengths that are none, or lead out of the answer, are refused."""
        for length in (b"0003", b"zzzz", b"+00a", b"0_0a", b"ffff", b"00"):
            message = await self.refused(length + b"xxxxxx")
            self.assertIn("not git's protocol", message, length)
