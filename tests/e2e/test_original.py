"""A data directory that the earlier daemon of VRCNext left, taken over as it is."""

import hashlib
import json
import socket
import sys
import time

from bridge.plugins.tree.tree import key_id, public_key_of
from bridge.settings.host import load_profile

from ..directories import write_files
from ..forge import empty_forge, sign
from ..npm import esbuild
from ..plugins.clone.clones import run_git
from ..plugins.operations.bench import SEED, manifest
from .daemon import Daemon, HomeCase, ending, popen

PROFILE = load_profile("vrcnext")
TOKEN = "Zm9yIGEgdGVzdCBvbmx5LCBub3QgYSByZWFsIHRva2Vu"[:43]
INSTALLED_AT = 1_700_000_000_000
SIGNED_AT = 1_700_000_000

MAIN = """\
import { definePlugin } from '@vrcnext/plugin-api';

export default definePlugin({ marker: 'Marker of %s' });
"""
HOST = {
    "host/packages/api/src/index.ts": (
        "export const definePlugin = <T>(plugin: T): T => plugin;\n"
    ),
    "host/packages/host/src/index.ts": (
        "import { COMPILED_PLUGINS } from '@vrcnext/static-plugins';\n"
        "console.log(COMPILED_PLUGINS);\n"
    ),
}
"""A host's sources, as far as a build needs them."""


class OriginalTests(HomeCase):
    def setUp(self):
        """Lay a home directory out as the earlier daemon did."""
        super().setUp()
        self.data = self.home / ".vrcnext-plugins"
        theme = self.home / ".config/VRCNext/custom-themes/vrcnext-plugin-system"
        self.bundle = theme / "vrcnext-plugin-host.js"
        self.forge = empty_forge(self)
        # It made the root by the umask, and some directories for itself alone.
        self.data.mkdir(mode=0o755)
        for name in ("plugins", "build"):
            (self.data / name).mkdir(mode=0o700)
        self.url, commit = self.publish("1.0.0", SIGNED_AT)
        clone = self.data / "plugins" / "good"
        cloning = ("clone", "--quiet", "--depth=1", self.url, str(clone))
        run_git(self.home, *cloning, ca_file=self.forge.ca_file)
        self.key = key_id(public_key_of(SEED))
        state = {
            "bridge.plugin-keys": {
                self.key: {
                    "label": f"good ({self.url})",
                    "lastUsedAt": INSTALLED_AT,
                    "plugins": ["good"],
                    "publicKey": public_key_of(SEED),
                    "trustedAt": INSTALLED_AT,
                }
            },
            "bridge.plugins": {
                "good": {
                    "commit": commit,
                    "installedAt": INSTALLED_AT,
                    "keyId": self.key,
                    "signedAt": SIGNED_AT,
                    "updatedAt": INSTALLED_AT,
                    "url": self.url,
                }
            },
            "host": {"enabled": ["good"]},
            "plugin:good": {"volume": 0.5},
        }
        bundler = esbuild().read_bytes()
        digest = hashlib.sha256(bundler).hexdigest()
        files: dict[str, str | bytes] = {
            **HOST,
            "bin/esbuild": bundler,
            "bin/esbuild.sha256": f"{digest.upper()}  esbuild\n",
            "build/static-plugins.ts": "// Generated.\n",
            # What a killed install left.
            "plugins/.tmp-0123456789abcdef/main.ts": "half",
            "state.json": json.dumps(state, separators=(",", ":")),
            "token": TOKEN + "\n",
        }
        write_files(self.data, files)
        (self.data / "bin/esbuild").chmod(0o755)
        for name in ("state.json", "token"):
            (self.data / name).chmod(0o600)

    def publish(self, version, signed_at):
        """Publish the plugin; gives its URL and the commit."""
        tree = self.home / "tree"
        text = manifest("good", version=version, apiVersion="^0.3.0")
        write_files(tree, {"plugin.json": text, "main.ts": MAIN % version})
        sign(tree, "good", PROFILE, SEED, signed_at)
        commit = self.forge.publish(tree, "good")
        return self.forge.url("good"), commit

    def daemon(self, **environ):
        """Start the daemon by the name that its users know."""
        path = self.home / "vrcnext-bridge"
        path.write_text(
            "import sys\nfrom bridge.cli.main import main\nsys.exit(main())\n"
        )
        options = "--dev", "--sink=wayvr", "--listen=127.0.0.1:0"
        trust = f"--ca-file={self.forge.ca_file}"
        line = [sys.executable, "-u", str(path), *options, trust]
        process = popen(line, self.home, environ)
        return self.enterContext(ending(Daemon(process, self.data)))

    def test_nothing_is_lost(self):
        """Token, settings, records, keys and overlay are as they were, and go on."""
        overlay = self.enterContext(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        overlay.bind(("127.0.0.1", 0))
        overlay.settimeout(30)
        address = f"127.0.0.1:{overlay.getsockname()[1]}"
        daemon = self.daemon(VRCNEXT_BRIDGE_WAYVR_ADDR=address)
        self.assertEqual(daemon.token, TOKEN)
        with daemon.page() as page:
            listed = page.result("plugins", "list")
            [plugin] = listed["plugins"]
            self.assertEqual(listed["broken"], [])
            self.assertEqual(
                (plugin["id"], plugin["keyId"], plugin["url"]),
                ("good", self.key, self.url),
            )
            self.assertEqual(plugin["installedAt"], "2023-11-14T22:13:20Z")
            [key] = page.result("plugins", "keys")["keys"]
            self.assertEqual((key["keyId"], key["installed"]), (self.key, ["good"]))
            for ns, key, value in (
                ("host", "enabled", ["good"]),
                ("plugin:good", "volume", 0.5),
            ):
                got = page.result("state", "get", {"ns": ns, "key": key})
                self.assertEqual(got["value"], value)
            report = page.result("plugins", "build")
            self.assertEqual((report["ok"], report["plugins"]), (True, ["good"]))
            sent = {"title": "Hello", "content": "", "sinks": ["wayvr"]}
            self.assertEqual(page.result("notify", "send", sent)["failed"], [])
            self.assertIn("Hello", overlay.recv(65535).decode())
            self.assertIn("Marker of 1.0.0", self.bundle.read_text())
            left = {path.name for path in (self.data / "plugins").iterdir()}
            self.assertEqual(left, {"good"})
            self.goes_on(page)
        daemon.stop()
        self.assertNotIn("set aside", "".join(daemon.lines))
        self.assertNotIn("Traceback", "".join(daemon.lines))

    def goes_on(self, page):
        """Its plugins are updated and uninstalled as any; an older tree is refused."""
        for older in (("0.9.0", int(time.time())), ("1.1.0", SIGNED_AT - 1)):
            self.publish(*older)
            refused = page.refusal("plugins", "update", {"id": "good"})
            self.assertIn("downgrade", refused)
        self.publish("1.1.0", int(time.time()))
        updated = page.result("plugins", "update", {"id": "good"})["plugin"]
        expected = "1.1.0", INSTALLED_AT
        self.assertEqual((updated["version"], updated["trustedAt"]), expected)
        self.assertEqual(updated["installedAt"], "2023-11-14T22:13:20Z")
        self.assertIn("Marker of 1.1.0", self.bundle.read_text())
        page.result("plugins", "uninstall", {"id": "good"})
        self.assertEqual(page.result("plugins", "list")["plugins"], [])
        listed = page.result("state", "list", {"ns": "plugin:good"})
        self.assertEqual(listed["entries"], {})
