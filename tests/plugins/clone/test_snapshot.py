from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone.snapshot import Snapshot, read_snapshot
from bridge.protocol.errors import BridgeError

from .packs import (
    DIRECTORY,
    FILE,
    SUBMODULE,
    SYMLINK,
    Object,
    blob,
    commit,
    tree,
    unpacked_of,
)

CONTENT = blob()
INNER = tree((FILE, b"x", CONTENT))
LINKED = tree((SYMLINK, b"b.ts", CONTENT))
UNSAFE = "clone_failed: an unsafe file name"
COLLIDING = "clone_failed: two file names differ only in case or in form"
NOT_MADE = "clone_failed: a directory that git would not make"
MISSING = "clone_failed: an object is missing"


def read(*objects: Object) -> Snapshot:
    """The files of the last of ``objects``, a commit."""
    name = objects[-1].name.hex()
    return read_snapshot(name, unpacked_of(objects), lambda: None)


def nested(times: int, width: int) -> list[Object]:
    """Directories in directories, each with the same one under several names."""
    made = [CONTENT, INNER]
    for _ in range(times):
        named = [(DIRECTORY, b"%02d" % number, made[-1]) for number in range(width)]
        made.append(tree(*named))
    return made


class ReadSnapshotTests(SynchronousTestCase):
    def message(self, *objects: Object) -> str:
        """What a commit of the last of these is refused with."""
        made = [CONTENT, INNER, LINKED, *objects, commit(objects[-1])]
        error = self.assertRaises(BridgeError, read, *made)
        return str(error.message)

    def test_files(self) -> None:
        """Files are listed with their paths, whatever their permissions."""
        inner = tree((b"100755", b"run", CONTENT), (b"100664", b"odd", CONTENT))
        root = tree(
            (FILE, b"a", CONTENT), (b"040000", b"dir", inner), (DIRECTORY, b"e", inner)
        )
        snapshot = read(CONTENT, inner, root, commit(root))
        paths = ["a", "dir/odd", "dir/run", "e/odd", "e/run"]
        self.assertEqual(list(snapshot.tree.files), paths)
        self.assertEqual(snapshot.names, dict.fromkeys(paths, CONTENT.name))
        self.assertFalse(snapshot.shallow)
        self.assertTrue(read(root, inner, CONTENT, commit(root, commit(root))).shallow)

    def test_stopped(self) -> None:
        """A clone that is cancelled meanwhile ends at the next directory."""
        made = nested(2, 2)
        last = commit(made[-1])
        checks: list[None] = []

        def check() -> None:
            checks.append(None)
            if len(checks) == 2:
                raise CancelledError

        unpacked, name = unpacked_of([*made, last]), last.name.hex()
        self.assertRaises(CancelledError, read_snapshot, name, unpacked, check)

    def test_bad_commit(self) -> None:
        """A commit must name its tree first."""
        for content in (b"", b"tree x\n", b"parent " + b"0" * 40 + b"\n"):
            error = self.assertRaises(BridgeError, read, Object("commit", content))
            self.assertIn("a commit that git would not make", error.message)

    def test_attack_entries(self) -> None:
        """What is no file or directory, or has no safe name of its own, is refused."""
        for entries, words in (
            ([(SYMLINK, b"main.ts", CONTENT)], "policy: main.ts:1 symlink"),
            ([(DIRECTORY, b"a", LINKED)], "policy: a/b.ts:1 symlink"),
            ([(SUBMODULE, b"vendor", b"\1" * 20)], "policy: vendor:1 submodule"),
            ([(b"10644", b"pipe", CONTENT)], "clone_failed: an entry that is neither"),
            ([(FILE, b"../x", CONTENT)], UNSAFE),
            ([(DIRECTORY, b"..", INNER)], UNSAFE),
            ([(FILE, b"A.ts", CONTENT), (FILE, b"a.ts", CONTENT)], COLLIDING),
            ([(FILE, b"src", CONTENT), (DIRECTORY, b"SRC", INNER)], COLLIDING),
            ([(FILE, b"same", CONTENT), (FILE, b"same", CONTENT)], COLLIDING),
            ([(DIRECTORY, b"a", CONTENT)], MISSING),
            ([(FILE, b"a", INNER)], MISSING),
            ([(FILE, b"a", b"\1" * 20)], MISSING),
        ):
            message = self.message(tree(*entries))
            self.assertTrue(message.startswith(words), message)
        self.assertTrue(self.message(CONTENT).startswith(MISSING))

    def test_attack_bad_directory(self) -> None:
        """A directory that is cut off, or has a mode that is none, is refused."""
        for content in (b"100644", b"100644 a\0short", b"x a\0" + bytes(20)):
            self.assertEqual(self.message(Object("tree", content)), NOT_MADE)

    def test_attack_limits(self) -> None:
        """A limit may be reached and not exceeded; what is used often counts often."""
        entries = [(FILE, b"%05d" % number, CONTENT) for number in range(2001)]
        most, many = tree(*entries[1:]), tree(*entries)
        large = blob(bytes(1024 * 1024))
        named = [(FILE, b"%02d" % number, large) for number in range(17)]
        full, wide = tree(*named[1:]), tree(*named)
        deep, deeper = nested(32, 1), nested(33, 1)
        in_long = tree((FILE, b"x" * 255, CONTENT))
        long = tree((DIRECTORY, b"y" * 254, in_long))
        short, longer = (tree((DIRECTORY, b"z" * size, long)) for size in (1, 2))
        for objects, words in (
            ([many], "more than 2000 files"),
            ([large, wide], "files of more than 16777216 bytes"),
            ([in_long, long, longer], "a path of more than 512 bytes"),
            (deeper, "more than 32 directories deep"),
            (nested(10, 10), "too many files and directories"),
        ):
            message = self.message(*objects)
            self.assertEqual(message, f"clone_failed: {words}")
        read(CONTENT, most, commit(most))
        read(large, full, commit(full))
        read(*deep, commit(deep[-1]))
        read(CONTENT, in_long, long, short, commit(short))

    @given(st.binary(max_size=100))
    def test_attack_any_directory(self, content: bytes) -> None:
        """Any bytes as a directory are read or refused."""
        root = Object("tree", content)
        try:
            read(root, commit(root))
        except BridgeError:
            return
        self.assertEqual(content, b"")
