"""Hostile repositories, installed from a real git server into a real daemon."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..forge import RogueServer, respond, serve_pack
from ..plugins.clone import packs
from ..plugins.clone.packs import FILE, blob, commit, make_repository
from .daemon import Daemon, Page, running
from .test_install import InstallCase, manifest, tree

MEMORY = 128 * 1024
"""KiB a daemon may hold at its peak above what an ordinary install took it to."""

SECONDS = 60
"""Half of a clone's deadline; what ends sooner was ended by another rule."""


def text(size: int) -> str:
    """Give text that does not compress away."""
    return os.urandom(size // 2).hex()


class HostileTests(InstallCase):
    """Each is refused in its words, in time and memory, and leaves nothing."""

    @contextmanager
    def attacked(self, *ca_files: Path) -> Iterator[tuple[Daemon, Page]]:
        """A daemon with one honest plugin, which trusts these servers too."""
        trusted = self.home / "trusted.pem"
        files = (self.forge.ca_file, *ca_files)
        trusted.write_bytes(b"".join(path.read_bytes() for path in files))
        fast = ("--rate=100", "--burst=100")
        first = self.publish("good", tree("good"))
        options = ("--dev", f"--ca-file={trusted}", *fast)
        with running(self.home, *options) as daemon, daemon.page() as page:
            page.result("plugins", "install", {"url": first})
            yield daemon, page

    def assert_refused(self, attacks: dict[str, tuple[str, str]], *ca: Path) -> None:
        """See each URL refused with its message, in time and in bounded memory."""
        with self.attacked(*ca) as (daemon, page):
            before, usual = self.left(), daemon.memory("VmHWM")
            for name, (url, expected) in attacks.items():
                begun = time.monotonic()
                message = page.refusal("plugins", "install", {"url": url})
                self.assertTrue(message.startswith(expected), (name, message))
                self.assertLess(time.monotonic() - begun, SECONDS, name)
                held = daemon.memory("VmHWM") - usual
                self.assertLess(held, MEMORY, name)
                self.assertEqual(self.left(), before, name)

    def with_files(self, name: str, **options: Any) -> str:
        """Publish an honest plugin with other files added to it."""
        files = options.pop("files")
        url: str = self.publish(name, {**tree(name), **files}, **options)
        return url

    def hostile(self, name: str, *made: packs.Object) -> str:
        """Make a repository of these objects."""
        make_repository(self.forge.root, name, made)
        return self.forge.url(name)

    def test_attack_large_files(self):
        """A manifest, a signature of 10 MB, files that inflate, brackets."""
        zeros = blob(bytes(33 * 1024 * 1024))
        root = packs.tree((FILE, b"main.ts", zeros))
        large = "manifest_invalid: plugin.json: must be at most 65536 bytes"
        brackets = {"src/a.ts": ("[" * 100 + "\n") * 20_000}
        self.assert_refused(
            {
                "manifest of 10 MB": (
                    self.publish(
                        "first",
                        {
                            **tree("first"),
                            "plugin.json": manifest("first") + " " * 10_000_000,
                        },
                        signed_as="",
                    ),
                    large,
                ),
                "manifest of 10 MB that is dense": (
                    self.publish(
                        "second",
                        {
                            **tree("second"),
                            "plugin.json": manifest("second", name=text(10_000_000)),
                        },
                        signed_as="",
                    ),
                    large,
                ),
                "signature of 10 MB": (
                    self.with_files(
                        "third", files={"plugin.sig": text(10_000_000)}, signed_as=""
                    ),
                    "unsigned: plugin.sig is not usable: it is larger than 65536 bytes",
                ),
                "33 MB of zeros": (
                    self.hostile("fourth", zeros, root, commit(root)),
                    "clone_failed: the repository is too large when unpacked",
                ),
                "2 MB of brackets": (
                    self.with_files("fifth", files=brackets),
                    "policy: src/a.ts:",
                ),
            }
        )

    def test_attack_servers(self):
        """Bombs, redirects and wrong packs of a server that follows no rules."""
        tip = commit(packs.tree())
        size = 1536 * 1024 * 1024
        zeros = packs.entry_head(packs.BLOB, size) + packs.zeros_deflated(size)
        bomb = packs.make_pack(packs.packed(tip), zeros)
        entries, grown = [packs.packed(blob(bytes(1000)))], 1000
        for _ in range(3):
            patch = packs.delta(grown, grown * 100, *[packs.copy(0, grown)] * 100)
            back = packs.back(len(entries[-1]))
            entries.append(packs.entry(packs.BY_OFFSET, patch, back))
            grown *= 100
        deltas = packs.make_pack(packs.packed(tip), *entries)
        wrong = packs.make_pack(packs.packed(commit(packs.tree(), tip)))
        heavy = packs.make_pack(
            packs.packed(tip), packs.packed(blob(os.urandom(33 * 1024 * 1024)))
        )
        too_large = "clone_failed: the repository is too large when unpacked"
        refused = "clone_failed: redirect refused: "
        query = "x.git/info/refs?service=git-upload-pack"
        servers: dict[str, tuple[RogueServer, str]] = {}

        def serve(name: str, script: Any, expected: str) -> None:
            server = RogueServer(script, self.home / f"{len(servers)}.pem")
            self.addCleanup(server.stop)
            servers[name] = server, expected

        def redirect(target: str, expected: str) -> None:
            answer = respond("302 x", Location=target)
            serve(f"to {target}", lambda line, body: [answer], refused + expected)

        hexadecimal = tip.name.hex()
        serve("pack bomb", serve_pack(bomb, hexadecimal), too_large)
        serve("delta bomb", serve_pack(deltas, hexadecimal), too_large)
        serve("wrong pack", serve_pack(wrong, hexadecimal), "clone_failed: ")
        serve(
            "heavy pack",
            serve_pack(heavy, hexadecimal),
            "clone_failed: more than 33554432 bytes received",
        )
        redirect(f"http://127.0.0.1:1/{query}", "not to an https URL")
        redirect(f"https://localhost:8443/{query}", "to another host")
        redirect(f"file:///{query}", "not to an https URL")
        redirect("file:///etc/passwd", "not to a")
        self.assert_refused(
            {
                name: (server.url, reported)
                for name, (server, reported) in servers.items()
            },
            *(server.ca_file for server, _ in servers.values()),
        )
