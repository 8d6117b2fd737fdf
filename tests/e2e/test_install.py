"""Installing plugins from a real git server into a real daemon, with real esbuild."""

import hashlib
import json
import os
import time
from pathlib import Path

from bridge.datadir.ownership import check_tree

from ..directories import write_files
from ..forge import empty_forge, sign
from ..npm import setup_options
from ..plugins.operations.bench import PROFILE, SEED, manifest
from ..waiting import wait_until
from .daemon import HomeCase, run, running, set_up

MAIN = Path(__file__).with_name("marker.ts").read_text("utf-8")
"""A plugin, for its id in two places."""


def tree(plugin_id):
    """The files of a good plugin."""
    return {
        "plugin.json": manifest(plugin_id),
        "main.ts": MAIN % (plugin_id, plugin_id),
    }


def put(bundler, content):
    """Put a bundler in place, with its checksum."""
    bundler.write_bytes(content)
    bundler.chmod(0o755)
    digest = hashlib.sha256(content).hexdigest()
    bundler.with_suffix(".sha256").write_text(f"{digest}\n")


class InstallCase(HomeCase):
    """Has a data directory that is set up, and a git server."""

    def setUp(self):
        """A data directory that is set up, and a git server."""
        super().setUp()
        set_up(self.home)
        self.forge = empty_forge(self)

    def publish(self, name, files, signed=True, signed_at=None):
        directory = self.home / "trees" / name
        write_files(directory, files)
        if signed:
            sign(directory, name, PROFILE, SEED, signed_at)
        self.forge.publish(directory, name)
        return self.forge.url(name)

    def daemon(self, *options, more=None):
        trust = f"--ca-file={self.forge.ca_file}"
        return running(self.home, trust, *options, more=more)

    @property
    def bundle(self):
        return self.data / "themes" / "reference-host" / "reference-host.js"

    def left(self):
        """All that an installation may leave behind."""
        state = self.data / "state.json"
        return (
            sorted(path.name for path in (self.data / "plugins").iterdir()),
            json.loads(state.read_text()) if state.exists() else {},
            self.bundle.read_bytes() if self.bundle.exists() else None,
        )


class InstallTests(InstallCase):
    def test_attack_settings_that_keep_plugins_out(self):
        """However much a page stores, and under any umask, a plugin is installed."""
        self.addCleanup(os.umask, os.umask(0))
        ready = run(self.home, "setup", "--force", *self.where, *setup_options())
        self.assertEqual(ready.returncode, 0, ready.stderr)
        url = self.publish("good", {**tree("good"), "deep/er/x.ts": "export {};\n"})
        fast = ("--rate=200", "--burst=200")
        with self.daemon("--dev", *fast) as daemon, daemon.page() as page:
            for number in range(100):
                place = {"ns": f"plugin:p{number % 4}", "key": str(number)}
                page.result("state", "set", {**place, "value": "x" * 60_000})
            page.result("plugins", "install", {"url": url})
            self.assertEqual(page.result("plugins", "list")["broken"], [])
        for name in ("plugins", "host", "bin", "build"):
            check_tree(self.data / name)
        self.assertIn(b"Marker of good", self.bundle.read_bytes())

    def test_attack_bundler_that_hangs_when_the_daemon_ends(self):
        """It is killed; the next start has the old set, whole."""
        url = self.publish("good", tree("good"))
        bundler, started = self.data / "bin" / "esbuild", self.home / "started"
        real = bundler.read_bytes()
        reader, asked = self.home / "reader", self.home / "asked"
        reader.write_bytes(real)
        reader.chmod(0o755)
        # It scans as it should, and hangs in the build.
        script = (
            f"#!/bin/sh\nPATH=/usr/bin:/bin\nhead -c 64 > {asked}\n"
            f'grep -q transform {asked} && {{ cat {asked} - | {reader} "$@"; exit; }}\n'
            f"echo $$ > {started}.part; mv {started}.part {started}\nexec sleep 600\n"
        )
        put(bundler, script.encode())
        with self.daemon("--dev") as daemon, daemon.page() as page:
            page.begin("plugins", "install", {"url": url})
            wait_until(started.exists)
            begun = time.monotonic()
            daemon.stop()
            # It is 3 s on an idle machine; its own deadline would be 60 s.
            self.assertLess(time.monotonic() - begun, 20)
        pid = started.read_text().strip()
        wait_until(lambda: not Path(f"/proc/{pid}").exists())
        put(bundler, real)
        with self.daemon("--dev") as daemon, daemon.page() as page:
            self.assertEqual(page.result("plugins", "list")["plugins"], [])
            wait_until(self.bundle.exists)
            self.assertEqual(page.result("plugins", "build")["plugins"], [])
        trees, state, bundle = self.left()
        self.assertEqual((trees, state.get("bridge.plugins", {})), ([], {}))
        self.assertNotIn(b"Marker of good", bundle)
