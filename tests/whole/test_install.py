"""Installing plugins from a real git server into a real daemon, with real esbuild."""

import hashlib
import json
import os
import time
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bridge.datadir.ownership import check_tree
from bridge.settings.host import load_profile

from ..directories import fresh_directory
from ..forge import empty_forge, sign
from ..npm import setup_options
from ..waiting import wait_until
from .daemon import run, running, set_up

SEED = b"\x01" * 32
OTHER_SEED = b"\x02" * 32
PROFILE = load_profile("reference")
MAIN = """\
import { definePlugin } from '@bridge/plugin-api';

export default definePlugin({
  id: '%s',
  activate(ctx) {
    ctx.ui.card('Marker of %s');
  },
});
"""


def manifest(plugin_id, **fields):
    """A manifest's text."""
    return json.dumps(
        {
            "id": plugin_id,
            "name": "A plugin",
            "version": "1.0.0",
            "apiVersion": "^0.1.0",
            "description": "For a test.",
            **fields,
        }
    )


def tree(plugin_id):
    """The files of a good plugin."""
    return {
        "plugin.json": manifest(plugin_id),
        "main.ts": MAIN % (plugin_id, plugin_id),
    }


class InstallCase(SynchronousTestCase):
    """Has a data directory that is set up, and a git server."""

    def setUp(self):
        """A data directory that is set up, and a git server."""
        self.home = fresh_directory(self)
        self.data = set_up(self.home)
        self.forge = empty_forge(self)

    def publish(self, name, files, signed_as=None, seed=SEED, signed_at=None):
        """Put a tree into a repository, signed unless ``signed_as`` is ''."""
        directory = self.home / "trees" / name
        for path, content in files.items():
            file = directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        if signed_as != "":
            sign(directory, signed_as or name, PROFILE, seed, signed_at)
        self.forge.publish(directory, name)
        return self.forge.url(name)

    def daemon(self, *options):
        """A daemon that trusts the git server."""
        return running(self.home, f"--ca-file={self.forge.ca_file}", *options)

    @property
    def bundle(self):
        """The published bundle."""
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
    """Tests for the pipeline from end to end."""

    def test_attack_settings_that_keep_plugins_out(self):
        """However much a page stores, the bundler starts within its memory."""
        url = self.publish("good", tree("good"))
        with (
            self.daemon("--dev", "--rate=200", "--burst=200") as daemon,
            daemon.page() as page,
        ):
            for number in range(100):
                value = {
                    "ns": f"plugin:p{number % 4}",
                    "key": str(number),
                    "value": "x" * 60_000,
                }
                page.result("state", "set", value)
            page.result("plugins", "install", {"url": url})

    def test_attack_planted_in_an_open_directory(self):
        """What others left in a directory that was open is neither run nor built."""
        mark = self.home / "it ran"
        script = f"#!/bin/sh\ntouch '{mark}'\n"
        bundler = self.data / "bin" / "esbuild"
        checksum = self.data / "bin" / "esbuild.sha256"
        bundler.write_text(script)
        checksum.write_text(hashlib.sha256(script.encode()).hexdigest())
        place = ("--host=reference", f"--data-dir={self.data}")
        for path in (checksum, bundler, bundler.parent, self.data / "host"):
            path.chmod(0o777)
            self.data.chmod(0o777)
            ended = run(self.home, "run", *place, "--build-plugins")
            self.assertEqual(ended.returncode, 1)
            reported = ended.stdout + ended.stderr
            self.assertIn(f"{path} can be written by other users", reported)
            top = self.data / path.relative_to(self.data).parts[0]
            self.assertIn(f"chmod -R go-w {top}", reported)
            path.chmod(0o755)
        path.chmod(0o777)
        found = run(self.home, "doctor", *place)
        self.assertEqual(found.returncode, 1)
        self.assertIn(f"WRONG files of others: {path} can be writ", found.stdout)
        self.assertFalse(mark.exists())

    def test_whatever_the_umask(self):
        """What the daemon makes passes its own checks, under any umask."""
        self.addCleanup(os.umask, os.umask(0))
        ready = run(
            self.home,
            "setup",
            "--host=reference",
            "--force",
            f"--data-dir={self.data}",
            *setup_options(),
        )
        self.assertEqual(ready.returncode, 0, ready.stderr)
        url = self.publish("good", {**tree("good"), "deep/er/x.ts": "export {};\n"})
        with self.daemon("--dev") as daemon, daemon.page() as page:
            page.result("plugins", "install", {"url": url})
            self.assertEqual(page.result("plugins", "list")["broken"], [])
        check_tree(self.data / "plugins")
        check_tree(self.data / "host")
        check_tree(self.data / "bin")
        check_tree(self.data / "build")
        self.assertIn(b"Marker of good", self.bundle.read_bytes())

    def test_each_bad_input_has_its_prefix_and_leaves_nothing(self):
        """Every refusal of the pipeline names its step, and leaves no trace."""
        good = tree("good")
        bad = {
            "manifest_invalid: description": self.publish(
                "long",
                {
                    **tree("long"),
                    "plugin.json": manifest("long", description="x" * 201),
                },
            ),
            "no_manifest: ": self.publish(
                "bare", {"main.ts": good["main.ts"]}, signed_as="bare"
            ),
            "policy: src/a.ts:2 eval": self.publish(
                "evil",
                {**tree("evil"), "src/a.ts": "export const a = 1;\neval('a');\n"},
            ),
            "unsigned: ": self.publish("unsigned", tree("unsigned"), signed_as=""),
            "clone_failed: ": self.forge.url("nowhere"),
            "build_failed: ": self.publish(
                "broken",
                {
                    **tree("broken"),
                    "main.ts": "import { a } from './missing.js';\na();\n",
                },
            ),
        }
        edited = self.publish("edited", tree("edited"))
        changed = self.home / "trees" / "edited" / "README.md"
        changed.write_text("One more file.\n")
        self.forge.publish(changed.parent, "edited")
        bad["unsigned: the tree"] = edited
        first = self.publish("good", good)
        fast = ("--rate=100", "--burst=100")
        with self.daemon("--dev", *fast) as daemon, daemon.page() as page:
            page.result("plugins", "install", {"url": first})
            before = self.left()
            for prefix, url in bad.items():
                message = page.refusal("plugins", "install", {"url": url})
                self.assertTrue(message.startswith(prefix), (prefix, message))
                self.assertEqual(self.left(), before, prefix)
            message = page.refusal("plugins", "install", {"url": first})
            self.assertTrue(message.startswith("already_installed: "), message)
            self.assertEqual(self.left(), before)

    def test_a_plugins_whole_life(self):
        """Installed, updated, refused as older, uninstalled: each is in the bundle."""
        url = self.publish("good", tree("good"), signed_at=1_700_000_000)
        newer = {**tree("good"), "plugin.json": manifest("good", version="1.1.0")}
        newer["main.ts"] = newer["main.ts"].replace("Marker", "Newer")
        fast = ("--rate=100", "--burst=100")
        with self.daemon("--dev", *fast) as daemon, daemon.page() as page:
            self.install(page, url)
            place = {"ns": "plugin:good", "key": "colour"}
            page.result("state", "set", {**place, "value": "red"})
            self.publish("good", newer, signed_at=1_700_000_100)
            page.pushes.clear()
            plugin = page.result("plugins", "update", {"id": "good"})["plugin"]
            self.assertEqual(plugin["version"], "1.1.0")
            self.assertLessEqual(plugin["installedAt"], plugin["updatedAt"])
            steps = [p["data"] for p in page.pushes if p["event"] == "progress"]
            self.assertEqual({step["op"] for step in steps}, {"update"})
            self.assertEqual({step["id"] for step in steps}, {"good"})
            self.assertIn(b"Newer of good", self.bundle.read_bytes())
            self.assertEqual(page.result("state", "get", place), {"value": "red"})

            before = self.left()
            self.publish("good", tree("good"), signed_at=1_700_000_200)
            message = page.refusal("plugins", "update", {"id": "good"})
            self.assertTrue(message.startswith("downgrade: "), message)
            self.publish("good", newer, signed_at=1_600_000_000)
            message = page.refusal("plugins", "update", {"id": "good"})
            self.assertTrue(message.startswith("downgrade: "), message)
            self.assertEqual(self.left(), before)

            self.assertEqual(page.result("plugins", "uninstall", {"id": "good"}), {})
            self.assertEqual(page.result("plugins", "list")["plugins"], [])
            self.assertEqual(page.result("state", "get", place), {"value": None})
            self.assertNotIn(b"Newer of good", self.bundle.read_bytes())
            for method in ("update", "uninstall"):
                message = page.refusal("plugins", method, {"id": "good"})
                self.assertTrue(message.startswith("not_installed: "), message)
                message = page.refusal("plugins", method, {"id": "../x"})
                self.assertTrue(message.startswith("invalid_id: "), message)
            (key,) = page.result("plugins", "keys")["keys"]
            forgotten = {"keyId": key["keyId"]}
            self.assertEqual(page.result("plugins", "forget_key", forgotten), {})
            message = page.refusal("plugins", "forget_key", forgotten)
            self.assertTrue(message.startswith("not_trusted: "), message)

    def install(self, page, url):
        """Install a plugin: it is in the bundle, the list and what is pushed."""
        plugin = page.result("plugins", "install", {"url": url})["plugin"]
        self.assertEqual((plugin["id"], plugin["url"]), ("good", url))
        self.assertRegex(plugin["commit"], r"\A[0-9a-f]{40}\Z")
        self.assertRegex(plugin["installedAt"], r"\A\d{4}-\d\d-\d\dT.*Z\Z")
        pushes = [(push["event"], push["data"]) for push in page.pushes]
        steps = [data["step"] for event, data in pushes if event == "progress"]
        order = "awaiting_confirmation clone validate policy signature move build"
        self.assertEqual(list(dict.fromkeys(steps)), order.split())
        events = [event for event, _ in pushes if event in ("plugins", "build")]
        self.assertEqual(events, ["plugins", "build"])
        self.assertEqual(page.result("plugins", "list")["plugins"], [plugin])
        self.assertIn(b"Marker of good", self.bundle.read_bytes())
        names = {path.name for path in self.bundle.parent.iterdir()}
        script = "reference-host.js"
        self.assertEqual(names, {"info.json", script, f"{script}.map"})

    def test_killed_in_the_middle_of_everything(self):
        """A start after SIGKILL has old or new, and what was answered as saved."""
        url = self.publish("good", tree("good"))
        saved = {"ns": "a", "key": "b"}
        for delay in (0.1, 0.3):
            with self.daemon("--dev") as daemon, daemon.page() as page:
                page.result("state", "set", {**saved, "value": [delay, "ü"]})
                request = {"type": "request", "id": "x", "service": "plugins"}
                page.send({**request, "method": "install", "params": {"url": url}})
                time.sleep(delay)
                daemon.stop(9)
            with self.daemon("--dev") as daemon, daemon.page() as page:
                kept = page.result("state", "get", saved)
                self.assertEqual(kept, {"value": [delay, "ü"]})
                listed = [p["id"] for p in page.result("plugins", "list")["plugins"]]
                report = page.result("plugins", "build")
                self.assertEqual((report["plugins"], report["errors"]), (listed, []))
                trees, state, bundle = self.left()
                self.assertEqual(trees, listed)
                self.assertEqual(sorted(state.get("bridge.plugins", {})), listed)
                self.assertEqual(b"Marker of good" in bundle, bool(listed))
                if listed:
                    page.result("plugins", "uninstall", {"id": "good"})

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
        self.put(bundler, script.encode())
        with self.daemon("--dev") as daemon, daemon.page() as page:
            request = {"type": "request", "id": "x", "service": "plugins"}
            page.send({**request, "method": "install", "params": {"url": url}})
            wait_until(started.exists)
            begun = time.monotonic()
            daemon.stop()
            # It is 3 s on an idle machine; its own deadline would be 60 s.
            self.assertLess(time.monotonic() - begun, 20)
        pid = started.read_text().strip()
        wait_until(lambda: not Path(f"/proc/{pid}").exists())
        self.put(bundler, real)
        with self.daemon("--dev") as daemon, daemon.page() as page:
            self.assertEqual(page.result("plugins", "list")["plugins"], [])
            wait_until(self.bundle.exists)
            self.assertEqual(page.result("plugins", "build")["plugins"], [])
        trees, state, bundle = self.left()
        self.assertEqual((trees, state.get("bridge.plugins", {})), ([], {}))
        self.assertNotIn(b"Marker of good", bundle)

    def put(self, bundler, content):
        """Put a bundler in place, with its checksum."""
        bundler.write_bytes(content)
        bundler.chmod(0o755)
        digest = hashlib.sha256(content).hexdigest()
        bundler.with_suffix(".sha256").write_text(f"{digest}\n")
