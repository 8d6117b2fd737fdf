import contextlib
import os
import socket
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone import bounds
from bridge.plugins.clone.bounds import read_files
from bridge.protocol import limits
from bridge.protocol.errors import BridgeError

from ...directories import fresh_directory, write_files


class ReadFilesTests(SynchronousTestCase):
    def setUp(self):
        self.directory = fresh_directory(self)
        self.root = self.directory / "tree"
        self.root.mkdir()

    def write(self, name, content="x"):
        write_files(self.root, {name: content})

    def refusal(self, *names, **changed):
        """Read files that are refused; return the message."""
        with mock.patch.dict(vars(limits), changed):
            return self.assertRaises(BridgeError, read_files, self.root, names).message

    def test_what_is_named_is_read(self):
        """Every named file and no other is; one that was just removed is no failure."""
        for name in ("a.ts", "src/deep/b.ts", "src/c.ts", "left.ts"):
            self.write(name, name)
        names = ["a.ts", "src/c.ts", "src/deep/b.ts"]
        read = read_files(self.root, [*names, "gone.ts", "gone/b.ts"])
        self.assertEqual(read, {name: name.encode() for name in names})

    def test_attack_link(self):
        """A link is refused as in a clone, and never followed."""
        (self.root / "link.ts").symlink_to("/etc/passwd")
        self.assertEqual(self.refusal("link.ts"), "policy: link.ts:1 symlink")

    def test_attack_linked_directory(self):
        """What is reached through a linked directory is not read."""
        outside = self.directory / "outside"
        outside.mkdir()
        (outside / "a.ts").write_text("secret")
        (self.root / "src").symlink_to(outside)
        self.assertEqual(self.refusal("src/a.ts"), "policy: src:1 symlink")

    @settings(max_examples=60)
    @given(
        st.text(max_size=12).map(lambda text: f"../{text}")
        | st.sampled_from(("", "/etc/passwd", "a/../../secret"))
    )
    def test_attack_way_out(self, name):
        """Whatever leads out of the tree is refused."""
        self.assertTrue(self.refusal(name).startswith("clone_failed: "))

    def test_colliding_names(self):
        """Two names that some systems take for one are refused, the last is named."""
        self.write("src/a.ts")
        self.write("SRC/b.ts")
        self.assertEqual(
            self.refusal("src/a.ts", "SRC/b.ts"),
            "clone_failed: two file names differ only in case or in form (SRC/b.ts)",
        )

    def test_directory_for_a_file(self):
        """A directory that is named as a file is what git has as a submodule."""
        (self.root / "inner").mkdir()
        self.assertEqual(self.refusal("inner"), "policy: inner:1 submodule")

    def test_no_file(self):
        """A pipe is not waited for, and a socket, which can't be opened, is named."""
        os.mkfifo(self.root / "pipe")
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as listening:
            listening.bind(str(self.root / "sock"))
        for name in ("pipe", "sock"):
            why = f"clone_failed: neither a file nor a directory ({name})"
            self.assertEqual(self.refusal(name), why)

    def test_unreadable(self):
        """A file that can't be read is named."""
        self.write("a.ts")
        with mock.patch.object(bounds, "read_bounded", side_effect=PermissionError):
            self.assertEqual(
                self.refusal("a.ts"), "clone_failed: it cannot be read (a.ts)"
            )

    def test_limits(self):
        """The limits of a clone hold: files, bytes, depth and path."""
        names = "a", "b", "plugin.sig", "c"
        for name in names:
            self.write(name, "xxxx")
        message = self.refusal(*names, TREE_BYTES=8)
        self.assertIn("files of more than 8 bytes (c)", message)
        message = self.refusal(*names, TREE_FILES=2)
        self.assertIn("more than 2 files (c)", message)
        message = self.refusal("d/" * 33 + "a")
        self.assertIn("more than 32 directories deep", message)
        message = self.refusal("x" * 250 + "/" + "y" * 250 + "/" + "z" * 250)
        self.assertIn("a path of more than 512 bytes", message)
