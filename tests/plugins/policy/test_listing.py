"""Which files are scanned."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.listing import list_tree
from bridge.plugins.tree.exempt import is_test_name


class TreeTests(SynchronousTestCase):
    """The walk of a tree."""

    def setUp(self) -> None:
        """Make an empty tree."""
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)

    def write(self, *paths: str) -> None:
        """Put files of one byte into the tree."""
        for path in paths:
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("x")

    def test_order(self) -> None:
        """Entries come by name, directories where their name stands, whole."""
        self.write("b.ts", "a/z.ts", "a/b/c.js", "c.mts", "a.tsx", "B.cts")
        self.assertEqual(
            [path for path, _ in list_tree(self.root).sources],
            ["B.cts", "a/b/c.js", "a/z.ts", "a.tsx", "b.ts", "c.mts"],
        )

    def test_suffixes(self) -> None:
        """Sources are recognized by their suffix as written, JSON in either case."""
        self.write("a.mjs", "a.cjs", "a.jsx", "a.TS", "a.css", "README", "a.JSON")
        listing = list_tree(self.root)
        self.assertEqual(listing.sources, [("a.cjs", 1), ("a.jsx", 1), ("a.mjs", 1)])
        self.assertEqual(listing.documents, ["a.JSON"])

    def test_left_out(self) -> None:
        """Git's directories, test files and exempt files are left out."""
        self.write(
            ".git/a.ts",
            "a/.git/b.ts",
            "a.test.ts",
            "eslint.config.js",
            "scripts/sign-plugin.mjs",
            "node_modules/a.ts",
            ".hidden/a.ts",
        )
        self.assertEqual(
            [path for path, _ in list_tree(self.root).sources],
            [".hidden/a.ts", "node_modules/a.ts"],
        )

    def test_attack_links_and_pipes(self) -> None:
        """Links, pipes and submodules are reported and never opened."""
        self.write("sub/.git", ".git")
        os.symlink(self.root, self.root / "loop")
        os.symlink("nowhere", self.root / "a.test.ts")
        os.mkfifo(self.root / "pipe.ts")
        self.assertEqual(
            [hit.report for hit in list_tree(self.root).hits],
            [
                "a.test.ts:1 symlink",
                "loop:1 symlink",
                "pipe.ts:1 not a regular file",
                "sub:1 submodule",
            ],
        )

    def test_test_names(self) -> None:
        """A test file has test or spec between the first and the last part."""
        for name in ("a.test.ts", "a.Spec.js", "a.test.d.ts", ".test.ts"):
            self.assertTrue(is_test_name(name), name)
        for name in ("test.ts", "latest.ts", "a.tests.ts", "a.test", "spec"):
            self.assertFalse(is_test_name(name), name)
