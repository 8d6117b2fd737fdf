"""Hostile repositories, installed from a real git server into a real daemon."""

import os
import time

from ..forge import RogueServer, serve_pack
from ..plugins.clone import packs
from ..plugins.clone.packs import FILE, blob, commit, make_repository
from ..plugins.operations.bench import manifest
from .daemon import running
from .test_install import InstallCase, tree

MEMORY = 128 * 1024
"""KiB a daemon may hold at its peak above what an ordinary install took it to."""

SECONDS = 60
"""Half of a clone's deadline; what ends sooner was ended by another rule."""

TOO_LARGE = "clone_failed: the repository is too large when unpacked"
LARGE = 10_000_000


def text(size: int) -> str:
    """Give text that does not compress away."""
    return os.urandom(size // 2).hex()


def inflating(tip: packs.Object) -> bytes:
    """Make a pack of an object that inflates to 1.5 GiB."""
    size = 1536 * 1024 * 1024
    zeros = packs.entry_head(packs.BLOB, size) + packs.zeros_deflated(size)
    return packs.make_pack(packs.packed(tip), zeros)


class HostileTests(InstallCase):
    """What is or becomes large; ``tests.plugins.clone`` has other repositories."""

    def unsigned(self, name, **files):
        """Publish a plugin with other files; a name has two underscores for its dot."""
        named = {file.replace("__", "."): content for file, content in files.items()}
        return self.publish(name, {**tree(name), **named}, signed=False)

    def rogue(self, pack):
        """Serve a pack; gives the URL."""
        tip = commit(packs.tree())
        ca_file = self.home / f"{pack.__name__}.pem"
        server = RogueServer(serve_pack(pack(tip), tip.name.hex()), ca_file)
        self.addCleanup(server.stop)
        return server.url

    def zeros(self):
        """Publish a file of 33 MB that is small in the repository; gives the URL."""
        zeros = blob(bytes(33 * 1024 * 1024))
        root = packs.tree((FILE, b"main.ts", zeros))
        make_repository(self.forge.root, "zeros", (zeros, root, commit(root)))
        return self.forge.url("zeros")

    def test_attack_large_files_and_bombs(self):
        """Each is refused in its words, in time and memory, and leaves nothing."""
        first = self.publish("good", tree("good"))
        dense = manifest("dense", name=text(LARGE))
        brackets = {**tree("brackets"), "src/a.ts": ("[" * 100 + "\n") * 20_000}
        attacks = (
            (
                self.unsigned("dense", plugin__json=dense),
                "manifest_invalid: plugin.json: must be at most 65536 bytes",
            ),
            (
                self.unsigned("signature", plugin__sig=text(LARGE)),
                "unsigned: plugin.sig is not usable: it is larger than 65536 bytes",
            ),
            (self.publish("brackets", brackets), "policy: src/a.ts:"),
            (self.zeros(), TOO_LARGE),
            (self.rogue(inflating), TOO_LARGE),
        )
        trusted = self.home / "trusted.pem"
        files = (self.forge.ca_file, *self.home.glob("*.pem"))
        trusted.write_bytes(b"".join(path.read_bytes() for path in files))
        options = ("--dev", f"--ca-file={trusted}", "--rate=100", "--burst=100")
        with running(self.home, *options) as daemon, daemon.page() as page:
            page.result("plugins", "install", {"url": first})
            before, usual = self.left(), daemon.memory("VmHWM")
            for url, expected in attacks:
                begun = time.monotonic()
                message = page.refusal("plugins", "install", {"url": url})
                self.assertTrue(message.startswith(expected), (expected, message))
                self.assertLess(time.monotonic() - begun, SECONDS, expected)
                self.assertLess(daemon.memory("VmHWM") - usual, MEMORY, expected)
                self.assertEqual(self.left(), before, expected)
