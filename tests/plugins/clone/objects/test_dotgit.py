"""Tests of ``bridge.plugins.clone.objects.dotgit``: what git makes of its files."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.objects.dotgit import write_repository
from bridge.plugins.clone.objects.pack import unpack
from bridge.plugins.clone.objects.snapshot import read_snapshot
from bridge.plugins.clone.transfer import CloneLimits

from ....directories import fresh_directory
from ..clones import run_git
from ..packs import DIRECTORY, FILE, blob, commit, make_pack, packed, tree


class WriteRepositoryTests(SynchronousTestCase):
    """``write_repository``."""

    def written(self, *, parent: bool) -> Path:
        """A repository with two hundred files."""
        root = fresh_directory(self)
        blobs = [blob(b"%d" % number) for number in range(200)]
        named = sorted((b"%d" % n * (n % 9 + 1), one) for n, one in enumerate(blobs))
        inner = tree(*[(FILE, name, one) for name, one in named])
        top = tree((FILE, b"a.ts", blobs[0]), (DIRECTORY, b"b", inner))
        tip = commit(top, *[commit(top)] * parent)
        pack = make_pack(*map(packed, [tip, top, inner, *blobs]))
        unpacked = unpack(pack, CloneLimits(), lambda: None)
        name = tip.name.hex()
        snapshot = read_snapshot(name, unpacked, CloneLimits(), lambda: None)
        snapshot.tree.write(root)
        url = "https://example.invalid/a;b"
        write_repository(root, url, name, pack, unpacked, snapshot)
        return root

    def test_sound(self) -> None:
        """Git finds every object, no fault and no change, with and without parents."""
        for parent in (False, True):
            root = self.written(parent=parent)
            self.assertEqual(run_git(root, "fsck", "--full"), "")
            self.assertEqual(run_git(root, "status", "--porcelain"), "")
            count = run_git(root, "rev-list", "--objects", "--count", "HEAD")
            self.assertEqual(count.strip(), "203")
            url = run_git(root, "remote", "get-url", "origin").strip()
            self.assertEqual(url, "https://example.invalid/a;b")
            self.assertEqual((root / ".git" / "shallow").exists(), parent)
        # Git agrees with the index of the pack.
        [index] = (root / ".git" / "objects" / "pack").glob("*.idx")
        own = index.read_bytes()
        index.unlink()
        run_git(root, "index-pack", str(index.with_suffix(".pack")))
        self.assertEqual(index.read_bytes(), own)
