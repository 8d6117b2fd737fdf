"""The reference host: its bundle, its scenarios in Node.js, its words and policies."""

import base64
import hashlib
import re
import shutil
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.plugins.tree.manifest import read_manifest
from bridge.settings.host import load_profile

from ..directories import fresh_directory
from ..e2e.daemon import set_up
from ..plugins.bundle.workshop import Workshop
from .bundling import REFERENCE, printed

SAMPLE = REFERENCE / "sample-plugin"
MOST_BYTES = 183_000
MODULE = REFERENCE / "packages" / "host" / "src" / "permissionwords.ts"
NAMED = ("--format=iife", "--global-name=page")
PRINTING = "--footer:js=console.log(JSON.stringify([...page.PERMISSION_WORDS]));"


class BundleTests(TestCase):
    """What the daemon makes of it, which allows no file of anything else."""

    async def built(self, *ids: str) -> bytes:
        """Build the host with the sample plugin as these; give the bundle."""
        shop = Workshop(fresh_directory(self), load_profile("reference"))
        set_up(shop.root)
        for name in ids:
            shutil.copytree(SAMPLE, shop.data.plugins / name)
        report = await shop.build(*ids)
        self.assertEqual((report.errors, shop.warnings), ([], []))
        self.assertEqual(report.plugins, [*ids])
        return shop.bundle.read_bytes()

    async def test_bundles(self) -> None:
        """Without a plugin, or with one: as small as docs/decisions/0028 has it."""
        for ids in ((), ("hello-bridge",)):
            code = await self.built(*ids)
            self.assertTrue(code.endswith(b"sourceMappingURL=reference-host.js.map\n"))
            self.assertEqual(b"hello-bridge" in code, bool(ids))
            self.assertLess(len(code), MOST_BYTES)


class SamplePluginTests(SynchronousTestCase):
    def test_manifest_is_valid(self) -> None:
        """The daemon accepts its manifest, which names the source's id and no more."""
        content = (SAMPLE / "plugin.json").read_bytes()
        manifest = read_manifest(content, load_profile("reference"))
        self.assertEqual(manifest.id, "hello-bridge")
        self.assertIn(f'id: "{manifest.id}"', (SAMPLE / "main.ts").read_text("utf-8"))
        self.assertEqual(
            (manifest.permissions, manifest.optional_permissions), ([], [])
        )


class PageTests(SynchronousTestCase):
    def test_scenarios(self) -> None:
        """Each in ``*_scenarios.ts`` holds; else it is shown with what went wrong."""
        outcomes = printed(Path(__file__).with_name("scenarios.ts"), "--format=esm")
        self.assertGreater(len(outcomes), 100)
        failed = [f"{name}: {why}" for name, why in outcomes.items() if why]
        self.assertEqual(failed, [])

    def test_words(self) -> None:
        """Those for permissions are the daemon's prompts', in the same order."""
        prompts = [
            (name, one.label, one.effect, one.risky)
            for name, one in load_profile("reference").permission_words.items()
        ]
        page = [
            (name, words["label"], words["meaning"], words["risky"])
            for name, words in printed(MODULE, PRINTING, *NAMED)
        ]
        self.assertEqual(page, prompts)

    def test_policies(self) -> None:
        """Both name the script of the frame, and the page's allows no more for it."""
        source = REFERENCE / "packages" / "host" / "src" / "realm" / "bootstrap.ts"
        text = source.read_text("utf-8")
        script = re.search(r"BOOTSTRAP = `([^`\\$]*)`;", text)
        digest = hashlib.sha256(script[1].encode()).digest()
        name = f"sha256-{base64.b64encode(digest).decode()}"
        self.assertIn(f'BOOTSTRAP_HASH = "{name}"', text)
        own = "default-src 'none'; script-src '${BOOTSTRAP_HASH}'; worker-src blob:"
        self.assertIn(f'content="{own}"', text)
        page = (REFERENCE / "page" / "index.html").read_text("utf-8")
        policy = re.search(r'content="(default-src[^"]*)"', page)
        rules = [rule.strip() for rule in policy[1].split(";")]
        self.assertIn(f"script-src 'self' '{name}'", rules)
        self.assertIn("worker-src blob:", rules)
        self.assertEqual(rules[0], "default-src 'none'")
