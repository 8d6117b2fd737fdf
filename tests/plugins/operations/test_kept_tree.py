"""Tests for ``bridge.plugins.operations.kept``."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.operations.candidate import Pin
from bridge.plugins.tree.manifest import Manifest
from bridge.protocol.limits import PREVIEW_KEPT_SECONDS

from .bench import NOW, Bench

URL = "https://forge.example/good.git"
PIN = Pin("a" * 40, "b" * 64)
MANIFEST = Manifest("good", "Good", "1.0.0", "^0.1.0")


class KeptTreeTests(SynchronousTestCase):
    """Tests for ``KeptTree``."""

    def setUp(self) -> None:
        """Make one, and a tree."""
        self.bench = Bench(self)
        self.kept = self.bench.kept
        self.root = self.tree()

    def tree(self) -> Path:
        """Make a tree."""
        root = self.bench.trees.fresh()
        root.mkdir()
        (root / "main.ts").write_text("")
        return root

    def test_taken_once(self) -> None:
        """The tree is there for the first that takes it, who removes it."""
        until = self.kept.keep(URL, PIN, self.root, MANIFEST)
        self.assertEqual(until, int((NOW + PREVIEW_KEPT_SECONDS) * 1000))
        self.assertEqual(self.kept.take(URL, PIN), self.root)
        self.assertIsNone(self.kept.take(URL, PIN))
        self.bench.clock.advance(PREVIEW_KEPT_SECONDS)
        self.assertTrue(self.root.exists())
        self.assertEqual(self.bench.clock.getDelayedCalls(), [])

    def test_attack_another_tree_is_not_given_out(self) -> None:
        """Another URL, commit or digest does not get it."""
        self.kept.keep(URL, PIN, self.root, MANIFEST)
        for url, pin in (
            (URL + "x", PIN),
            (URL, Pin("c" * 40, PIN.digest)),
            (URL, Pin(PIN.commit, "c" * 64)),
        ):
            self.assertIsNone(self.kept.manifest(url, pin))
            self.assertIsNone(self.kept.take(url, pin))
        self.assertIsNone(self.kept.manifest(URL, None))
        self.assertEqual(self.kept.manifest(URL, PIN), MANIFEST)
        self.assertEqual(self.kept.take(URL, PIN), self.root)

    def test_time(self) -> None:
        """It is removed when its time is over."""
        self.kept.keep(URL, PIN, self.root, MANIFEST)
        self.bench.clock.advance(PREVIEW_KEPT_SECONDS - 1)
        self.assertTrue(self.root.exists())
        self.bench.clock.advance(1)
        self.assertFalse(self.root.exists())
        self.assertIsNone(self.kept.take(URL, PIN))

    def test_one_at_a_time(self) -> None:
        """The next one replaces it."""
        self.kept.keep(URL, PIN, self.root, MANIFEST)
        other = self.tree()
        self.kept.keep(URL, Pin("c" * 40, "d" * 64), other, MANIFEST)
        self.assertFalse(self.root.exists())
        self.assertTrue(other.exists())

    def test_close(self) -> None:
        """The end of the daemon removes it, and keeps nothing more."""
        self.kept.keep(URL, PIN, self.root, MANIFEST)
        self.successResultOf(self.kept.close())
        self.assertFalse(self.root.exists())
        late = self.tree()
        self.kept.keep(URL, PIN, late, MANIFEST)
        self.assertFalse(late.exists())
        self.assertEqual(self.bench.clock.getDelayedCalls(), [])

    def test_start(self) -> None:
        """What a killed daemon has kept is removed by the next start."""
        self.kept.keep(URL, PIN, self.root, MANIFEST)
        self.assertEqual(self.bench.trees.sweep(), [self.root.name])

    def test_removing_fails(self) -> None:
        """That is logged, and harms nothing."""
        self.kept.keep(URL, PIN, self.root, MANIFEST)
        self.bench.threads.failing = {"remove": OSError(5, "I/O error")}
        self.successResultOf(self.kept.close())
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
