"""Clones of repositories that git would not make, from the real git where it can."""

import os
from collections.abc import Iterator
from typing import Any

from ...forge import serve_pack
from .clones import CloneTestCase
from .packs import FILE, SYMLINK, blob, commit, make_pack, packed, tree

CONTENT = blob(b"/etc/passwd")


class HostileTests(CloneTestCase):
    """
    One of each; every name and limit is tested where its rule is.

    A whole daemon meets bombs in ``tests.e2e.test_hostile``.
    """

    async def test_attack_trees(self) -> None:
        """A tree with a link, a submodule or an unsafe name leaves no file behind."""
        for mode, name, words in (
            (SYMLINK, b"main.ts", "policy: main.ts:1 symlink"),
            (FILE, b".GIT", "clone_failed: an unsafe file name"),
        ):
            root = tree((mode, name, CONTENT))
            url = self.publish(CONTENT, root, commit(root))
            message = await self.refusal(url)
            self.assertTrue(message.startswith(words), (name, message))
        self.assertEqual(os.listdir(self.base), [])

    async def test_attack_too_much(self) -> None:
        """The limits of a clone hold for what a server sends."""
        made = [blob(os.urandom(20_000)) for _ in range(20)]
        root = tree(*[(FILE, b"%02d" % number, one) for number, one in enumerate(made)])
        url = self.publish(*made, root, commit(root))
        limits: Any
        for limits, words in (
            ({"objects": 21}, "more than 21 objects"),
            ({"received_bytes": 200_000}, "more than 200000 bytes received"),
            ({"files": 19}, "more than 19 files"),
        ):
            message = await self.refusal(url, self.cloner(**limits))
            self.assertEqual(message, f"clone_failed: {words}")

    async def test_attack_too_much_without_a_length(self) -> None:
        """A response without a length that was cut off at the limit says so."""
        root = tree((FILE, b"x", CONTENT))
        tip = commit(root)
        pack = make_pack(*map(packed, (tip, root, blob(os.urandom(300_000)))))

        def script(first: str, body: bytes) -> Iterator[bytes]:
            name = b"Content-Length" if first.startswith("GET") else b"X-Length"
            for part in serve_pack(pack, tip.name.hex())(first, body):
                yield part.replace(b"Content-Length", name)

        server = self.rogue(script)
        cloner = self.cloner(server.ca_file, received_bytes=100_000)
        message = await self.refusal(server.url, cloner)
        self.assertEqual(message, "clone_failed: more than 100000 bytes received")

    async def test_attack_packs(self) -> None:
        """A pack has to hold the commit that was announced, and its files."""
        root = tree((FILE, b"x", CONTENT))
        tip = commit(root)
        for objects, name in (
            ((tip,), tip.name.hex()),
            ((tip, root, CONTENT), "ab" * 20),
        ):
            pack = make_pack(*map(packed, objects))
            server = self.rogue(serve_pack(pack, name))
            message = await self.refusal(server.url, self.cloner(server.ca_file))
            self.assertIn("an object is missing", message)
