"""Tests of ``bridge.plugins.clone.objects.snapshot``."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.objects.pack import unpack
from bridge.plugins.clone.objects.snapshot import Snapshot, read_snapshot
from bridge.plugins.clone.transfer import CloneLimits
from bridge.protocol.errors import BridgeError

from ..packs import DIRECTORY, FILE, Object, blob, commit, make_pack, packed, tree


def read(*objects: Object, **limits: Any) -> Snapshot:
    """The files of the last of ``objects``, a commit."""
    pack = make_pack(*map(packed, objects))
    unpacked = unpack(pack, CloneLimits(), lambda: None)
    chosen = CloneLimits(**limits)
    return read_snapshot(objects[-1].name.hex(), unpacked, chosen, lambda: None)


class ReadSnapshotTests(SynchronousTestCase):
    """``read_snapshot``."""

    def message(self, *objects: Object, **limits: Any) -> str:
        """What a commit is refused with."""
        error = self.assertRaises(BridgeError, read, *objects, **limits)
        return str(error.message)

    def test_files(self) -> None:
        """Files are listed with their paths, whatever their permissions."""
        made = blob()
        inner = tree((b"100755", b"run", made), (b"100664", b"odd", made))
        root = tree((FILE, b"a", made), (b"040000", b"dir", inner))
        snapshot = read(made, inner, root, commit(root))
        paths = list(snapshot.tree.files)
        self.assertEqual(paths, ["a", "dir/odd", "dir/run"])
        self.assertFalse(snapshot.shallow)

    def test_parents(self) -> None:
        """A commit with parents is shallow here."""
        root = tree()
        self.assertTrue(read(root, commit(root, commit(root))).shallow)

    def test_same_name_in_two_directories(self) -> None:
        """Names only have to differ within a directory."""
        made = blob()
        inner = tree((FILE, b"a", made))
        root = tree((DIRECTORY, b"x", inner), (DIRECTORY, b"y", inner))
        self.assertEqual(len(read(made, inner, root, commit(root)).tree.files), 2)

    def test_bad_commit(self) -> None:
        """A commit must name its tree first."""
        for content in (b"", b"tree x\n", b"parent " + b"0" * 40 + b"\n"):
            message = self.message(Object("commit", content))
            self.assertIn("a commit that git would not make", message)

    def test_object_of_another_kind(self) -> None:
        """A directory must be a tree, and a file a blob."""
        made = blob()
        self.assertIn("missing", self.message(made, commit(made)))
        root = tree((DIRECTORY, b"a", made))
        self.assertIn("missing", self.message(made, root, commit(root)))
        empty = tree()
        root = tree((FILE, b"a", empty))
        self.assertIn("missing", self.message(empty, root, commit(root)))

    def test_bad_directory(self) -> None:
        """A directory that is cut off, or has a mode that is none, is refused."""
        for content in (
            b"100644",
            b"100644 a\0short",
            b"x a\0" + bytes(20),
            b"\0" * 30,
        ):
            root = Object("tree", content)
            message = self.message(root, commit(root))
            self.assertIn("a directory that git would not make", message)

    def test_long_path(self) -> None:
        """A path has a longest length."""
        made = blob()
        inner = tree((FILE, b"x" * 100, made))
        root = tree((DIRECTORY, b"y" * 100, inner))
        message = self.message(made, inner, root, commit(root), path_bytes=200)
        self.assertIn("a path of more than 200 bytes", message)

    @settings(deadline=None)
    @given(st.binary(max_size=100))
    def test_any_directory(self, content: bytes) -> None:
        """Any bytes as a directory are read or refused."""
        root = Object("tree", content)
        try:
            read(root, commit(root))
        except BridgeError:
            return
        self.assertEqual(content, b"")
