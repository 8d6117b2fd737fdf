"""The reference host compiles with the bundler the daemon pins."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.prerequisites import TABLE_FILE
from bridge.plugins.tree.manifest import read_manifest
from bridge.settings.host import load_profile

from .bundling import REFERENCE, bundle, lay_out

SAMPLE = REFERENCE / "sample-plugin"
MOST_BYTES = 175_000
MOST_COMPRESSED_BYTES = 62_000


class BundleTests(SynchronousTestCase):
    """What comes out of the bundler."""

    def build(self, plugins: list[Path]) -> tuple[str, dict[str, object]]:
        """Bundle the host; the bundle and the inputs the metafile names."""
        # Not mktemp: under pytest that would leave a folder in the checkout.
        scratch = TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        data = Path(scratch.name).resolve() / "data"
        lay_out(data, plugins)
        out = data / "themes" / "reference-host" / "reference-host.js"
        out.parent.mkdir(parents=True)
        run = bundle(data, out)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, b"", b""))
        meta = json.loads(out.with_name("meta.json").read_text("utf-8"))
        return out.read_text("utf-8"), meta["inputs"]

    def test_without_plugins(self) -> None:
        """The host bundles with an empty table, and the bundler warns of nothing."""
        code, inputs = self.build([])
        self.assertTrue(code.endswith("sourceMappingURL=reference-host.js.map\n"))
        self.assertNotIn("hello-bridge", code)
        self.assertIn("host/packages/host/src/index.ts", inputs)

    def test_with_the_sample_plugin(self) -> None:
        """A plugin of the table is in the bundle."""
        code, inputs = self.build([SAMPLE])
        self.assertIn("hello-bridge", code)
        self.assertIn("plugins/sample-plugin/plugin.json", inputs)
        self.assertNotIn("plugins/sample-plugin/main.ts", inputs)

    def test_self_contained(self) -> None:
        """The bundle has only the host, its library, the table and the plugin."""
        _, inputs = self.build([SAMPLE])
        library = "host/node_modules/preact/"
        allowed = ("host/packages/", library, TABLE_FILE, "plugins/")
        self.assertEqual([name for name in inputs if not name.startswith(allowed)], [])

    def test_size(self) -> None:
        """It stays as small as the record says: docs/decisions/0028."""
        code, _ = self.build([SAMPLE])
        whole = code.encode("utf-8")
        self.assertLess(len(whole), MOST_BYTES)
        self.assertLess(len(gzip.compress(whole, 9)), MOST_COMPRESSED_BYTES)

    def test_api_imports_only_itself(self) -> None:
        """No file of the API reaches outside the API, as the metafile rules demand."""
        _, inputs = self.build([SAMPLE])
        api = "host/packages/api/src/"
        edges = [
            edge["path"]
            for name, about in inputs.items()
            if name.startswith(api) and isinstance(about, dict)
            for edge in about["imports"]
        ]
        self.assertNotEqual(edges, [])
        self.assertEqual([path for path in edges if not path.startswith(api)], [])


class SamplePluginTests(SynchronousTestCase):
    """The sample plugin is one the daemon would take."""

    def test_manifest_is_valid(self) -> None:
        """The daemon accepts its manifest under the reference profile."""
        content = (SAMPLE / "plugin.json").read_bytes()
        manifest = read_manifest(content, load_profile("reference"))
        self.assertEqual(manifest.id, "hello-bridge")

    def test_ids_agree(self) -> None:
        """The manifest and the source name the same id."""
        manifest = json.loads((SAMPLE / "plugin.json").read_text("utf-8"))
        source = (SAMPLE / "main.ts").read_text("utf-8")
        self.assertIn(f'id: "{manifest["id"]}"', source)

    def test_no_permissions(self) -> None:
        """It asks for nothing it does not use."""
        manifest = json.loads((SAMPLE / "plugin.json").read_text("utf-8"))
        self.assertEqual(manifest["permissions"], [])
        self.assertEqual(manifest["optionalPermissions"], [])
