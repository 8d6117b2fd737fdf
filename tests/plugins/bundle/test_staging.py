"""One build's directory; the steps in it are in ``test_build``."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.bundle.inputs.metafile import BuildError
from bridge.plugins.bundle.staging import Staging, sweep

from ...directories import fresh_directory, planted
from .workshop import Workshop


class StagingTests(SynchronousTestCase):
    """What it makes, and what it leaves."""

    def setUp(self):
        """Make a data directory that builds."""
        self.shop = Workshop(fresh_directory(self)).fill()
        self.staging = Staging(
            self.shop.profile, self.shop.data, self.shop.folder, "1.0.0"
        )

    def bundled(self, path: str) -> None:
        """Write what the bundler does that has read one file."""
        bundle = self.staging.directory / self.staging.bundle
        bundle.write_text("")
        bundle.with_name(f"{bundle.name}.map").write_text(
            '{"version": 3, "sources": [], "sourcesContent": [], "names": [], '
            '"mappings": ""}'
        )
        bundle.with_name("meta.json").write_text(
            f'{{"inputs": {{"{path}": {{}}}}, "outputs": {{}}}}'
        )

    def test_private(self):
        """Its directory is nobody else's, and inside the theme's folder."""
        self.assertTrue(self.staging.claim())
        self.staging.prepare({})
        self.addCleanup(self.staging.discard)
        self.assertEqual(self.staging.directory.stat().st_mode & 0o777, 0o700)
        self.assertEqual(self.staging.directory.parent, self.shop.folder.resolve())

    def test_discard(self):
        """Afterwards nothing is left, also when it is done twice."""
        self.assertTrue(self.staging.claim())
        self.staging.prepare({})
        self.staging.discard()
        self.staging.discard()
        self.assertEqual(self.shop.published(), {})

    def test_sweep(self):
        """What killed builds left is removed; what is published stays."""
        sweep(self.shop.folder)  # there is none yet
        (self.shop.folder / ".build-1" / "x").mkdir(parents=True)
        (self.shop.folder / ".build-2").write_text("x")
        self.shop.bundle.write_text("published")
        sweep(self.shop.folder)
        self.assertEqual(list(self.shop.published()), [self.shop.bundle.name])

    def test_sweep_during_a_build(self):
        """The working directory of a build under way stays."""
        self.assertTrue(self.staging.claim())
        self.staging.prepare({})
        self.addCleanup(self.staging.discard)
        sweep(self.shop.folder)
        self.assertTrue(self.staging.directory.is_dir())

    def test_attack_input_through_a_link(self):
        """An input whose real path is another one is refused."""
        self.assertTrue(self.staging.claim())
        self.staging.prepare({})
        self.addCleanup(self.staging.discard)
        self.shop.write("secret.ts", "")
        link = self.shop.data.root / "host/packages/host/src/x.ts"
        link.symlink_to("../../../../secret.ts")
        self.bundled("host/packages/host/src/x.ts")
        with self.assertRaises(BuildError) as caught:
            self.staging.check([])
        self.assertEqual(
            str(caught.exception),
            "host/packages/host/src/x.ts is reached through a symbolic link",
        )

    def test_attack_planted_inputs(self):
        """Whatever a bundle was made of was written by nobody else."""
        self.assertTrue(self.staging.claim())
        self.staging.prepare({})
        self.addCleanup(self.staging.discard)
        entry = "host/packages/host/src/index.ts"
        self.bundled(entry)
        root = self.shop.data.root.resolve()
        for path in (
            "host/packages/host/src/index.ts",
            "host/packages/host/src",
            "host/packages/host/package.json",
            "host/packages",
            "host/package.json",
        ):
            if path.endswith(".json"):
                self.shop.write(path, "{}")
            (root / path).chmod(0o757)
            with self.assertRaises(BuildError) as caught:
                self.staging.check([])
            reported = str(caught.exception)
            self.assertIn(f"{root}/{path} can be written by other users", reported)
            self.assertTrue(
                reported.endswith(f"run: chmod -R go-w {root}/host"), reported
            )
            (root / path).chmod(0o755)
        planted(self, root / entry)
        with self.assertRaises(BuildError) as caught:
            self.staging.check([])
        self.assertIn(f"{root}/{entry} belongs", str(caught.exception))

    def test_attack_planted_between_builds(self):
        """What was planted under a running daemon ends the next build."""
        self.shop.data.host.chmod(0o777)
        self.assertTrue(self.staging.claim())
        self.addCleanup(self.staging.discard)
        with self.assertRaises(BuildError) as caught:
            self.staging.prepare({})
        self.assertIn("host can be written by other users", str(caught.exception))

    def test_one_at_a_time(self):
        """While a build has the theme's folder, none of another daemon's gets it."""
        other_shop = Workshop(fresh_directory(self)).fill()
        other = Staging(other_shop.profile, other_shop.data, self.shop.folder, "1.0.0")
        self.assertTrue(self.staging.claim())
        self.staging.prepare({})
        kept = sorted(self.staging.directory.iterdir())
        self.assertFalse(other.claim())
        other.discard()
        self.assertEqual(sorted(self.staging.directory.iterdir()), kept)
        self.staging.discard()
        self.assertTrue(other.claim())
        other.discard()
        self.assertEqual(self.shop.published(), {})
