"""Tests for ``bridge.plugins.clone.objects.treesize``."""

from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.objects.treesize import TreeSize
from bridge.plugins.clone.transfer import CloneLimits
from bridge.protocol.errors import BridgeError

LIMITS = CloneLimits(files=2, tree_bytes=8, tree_depth=3, path_bytes=5)


class TreeSizeTests(SynchronousTestCase):
    """Each limit may be reached, and not exceeded."""

    def setUp(self):
        """Begin with an empty tree."""
        self.size = TreeSize(LIMITS)

    def refusal(self, call, *arguments):
        """Call what is refused; return the message."""
        with self.assertRaises(BridgeError) as caught:
            call(*arguments)
        return caught.exception.message

    def test_depth(self):
        """Directories are counted, without the file."""
        self.size.check_depth(3)
        message = self.refusal(self.size.check_depth, 4)
        self.assertEqual(message, "clone_failed: more than 3 directories deep")

    def test_path(self):
        """A path is as long as its bytes."""
        self.size.check_path(b"abcde")
        message = self.refusal(self.size.check_path, b"abcdef")
        self.assertEqual(message, "clone_failed: a path of more than 5 bytes")

    def test_files(self):
        """One file too many is refused."""
        self.size.add_file()
        self.size.add_file()
        message = self.refusal(self.size.add_file)
        self.assertEqual(message, "clone_failed: more than 2 files")

    def test_bytes(self):
        """All files count together."""
        self.size.add_bytes(5)
        self.assertEqual(self.size.bytes_left, 3)
        self.size.add_bytes(3)
        message = self.refusal(self.size.add_bytes, 1)
        self.assertEqual(message, "clone_failed: files of more than 8 bytes")
