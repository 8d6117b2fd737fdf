"""The tree of the last preview, which is kept for a while."""

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
    def setUp(self) -> None:
        self.bench = Bench(self)
        self.kept = self.bench.kept
        self.root = self.keep()

    def keep(self, pin: Pin = PIN) -> Path:
        root = self.bench.trees.fresh()
        root.mkdir()
        until = self.kept.keep(URL, pin, root, MANIFEST)
        self.assertEqual(until, int((NOW + PREVIEW_KEPT_SECONDS) * 1000))
        return root

    def test_attack_another_tree_is_not_given_out(self) -> None:
        """Another URL, commit or digest gets none; the right one gets it once."""
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
        self.assertIsNone(self.kept.take(URL, PIN))
        self.assertEqual(self.bench.clock.getDelayedCalls(), [])
        self.assertTrue(self.root.exists())

    def test_removed(self) -> None:
        """It goes when its time is over, for the next one, and by the next start."""
        other = self.keep(Pin("c" * 40, "d" * 64))
        self.assertFalse(self.root.exists())
        self.bench.clock.advance(PREVIEW_KEPT_SECONDS - 1)
        self.assertTrue(other.exists())
        self.bench.clock.advance(1)
        self.assertFalse(other.exists())
        self.bench.clock.rightNow = 0
        killed = self.keep()
        self.bench.trees.sweep()
        self.assertFalse(killed.exists())

    def test_close(self) -> None:
        """The end of the daemon removes it, and keeps nothing more."""
        self.successResultOf(self.kept.close())
        self.assertFalse(self.root.exists())
        self.assertFalse(self.keep().exists())
        self.assertEqual(self.bench.clock.getDelayedCalls(), [])

    def test_removing_fails(self) -> None:
        """That is logged, and harms nothing."""
        self.bench.threads.failing = {"remove": OSError(5, "I/O error")}
        self.successResultOf(self.kept.close())
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)
