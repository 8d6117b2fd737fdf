"""Which files are scanned."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.policy.listing import Listing, list_files
from bridge.plugins.tree.exempt import is_test_name
from bridge.plugins.tree.tree import Tree


def listed(*paths: str) -> Listing:
    """List a tree of these files."""
    return list_files(Tree(dict.fromkeys(paths, b"x")))


class ListingTests(SynchronousTestCase):
    """What is scanned of a tree."""

    def test_order(self) -> None:
        """Entries come by name, directories where their name stands, whole."""
        self.assertEqual(
            listed("b.ts", "a/z.ts", "a/b/c.js", "c.mts", "a.tsx", "B.cts").sources,
            ["B.cts", "a/b/c.js", "a/z.ts", "a.tsx", "b.ts", "c.mts"],
        )

    def test_suffixes(self) -> None:
        """Sources are recognized by their suffix as written, JSON in either case."""
        names = ("a.mjs", "a.cjs", "a.jsx", "a.TS", "a.css", "README", "a.JSON")
        listing = listed(*names)
        self.assertEqual(listing.sources, ["a.cjs", "a.jsx", "a.mjs"])
        self.assertEqual(listing.documents, ["a.JSON"])

    def test_left_out(self) -> None:
        """Test files and exempt files are left out."""
        listing = listed(
            "a.test.ts",
            "eslint.config.js",
            "scripts/sign-plugin.mjs",
            "node_modules/a.ts",
            ".hidden/a.ts",
        )
        self.assertEqual(listing.sources, [".hidden/a.ts", "node_modules/a.ts"])

    def test_test_names(self) -> None:
        """A test file has test or spec between the first and the last part."""
        for name in ("a.test.ts", "a.Spec.js", "a.test.d.ts", ".test.ts"):
            self.assertTrue(is_test_name(name), name)
        for name in ("test.ts", "latest.ts", "a.tests.ts", "a.test", "spec"):
            self.assertFalse(is_test_name(name), name)
