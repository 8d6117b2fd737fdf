"""The reference host builds with the bundler the daemon pins."""

import shutil

from twisted.trial.unittest import SynchronousTestCase, TestCase

from bridge.plugins.tree.manifest import read_manifest
from bridge.settings.host import load_profile

from ..directories import fresh_directory
from ..e2e.daemon import set_up
from ..plugins.bundle.workshop import Workshop
from .bundling import REFERENCE

SAMPLE = REFERENCE / "sample-plugin"
MOST_BYTES = 177_000


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

    async def test_without_plugins(self) -> None:
        """The host bundles with an empty table, and the bundler warns of nothing."""
        code = await self.built()
        self.assertTrue(code.endswith(b"sourceMappingURL=reference-host.js.map\n"))
        self.assertNotIn(b"hello-bridge", code)

    async def test_with_the_sample_plugin(self) -> None:
        """It is in the bundle, which is as small as docs/decisions/0028 has it."""
        code = await self.built("hello-bridge")
        self.assertIn(b"hello-bridge", code)
        self.assertLess(len(code), MOST_BYTES)


class SamplePluginTests(SynchronousTestCase):
    """The sample plugin is one the daemon would take."""

    def test_manifest_is_valid(self) -> None:
        """The daemon accepts its manifest, which names the source's id and no more."""
        content = (SAMPLE / "plugin.json").read_bytes()
        manifest = read_manifest(content, load_profile("reference"))
        self.assertEqual(manifest.id, "hello-bridge")
        self.assertIn(f'id: "{manifest.id}"', (SAMPLE / "main.ts").read_text("utf-8"))
        self.assertEqual(
            (manifest.permissions, manifest.optional_permissions), ([], [])
        )
