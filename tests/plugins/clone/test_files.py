"""Tests for bridge.plugins.clone.files: names, trees of commits, and authors' files."""

import contextlib
import os
import socket
import sys
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.clone import files
from bridge.plugins.clone.files import (
    BoundedFiles,
    Snapshot,
    check_name,
    read_files,
    read_snapshot,
)
from bridge.protocol import limits
from bridge.protocol.errors import BridgeError

from ...directories import fresh_directory, write_files
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


class CheckNameTests(SynchronousTestCase):
    def test_ordinary_names(self) -> None:
        """What plugins really contain is accepted as it is."""
        for name in (
            *("main.ts", ".gitignore", ".gitattributes", ".gitmodules", ".github"),
            *("[id].tsx", "a b.md", "README~", "caf\u00e9.md", "\u65e5\u672c\u8a9e.md"),
            *("console.ts", "com10", "aux-in.ts", "git~", "..a", "x" * 255),
        ):
            self.assertEqual(check_name(name.encode("utf-8")), name)

    def test_folding(self) -> None:
        """Names that some system takes for one are not in one directory."""
        for names in (
            ("Main.TS", "main.ts"),
            ("caf\u00e9", "CAFE\u0301"),
            ("\u212b", "\u00e5"),
            ("\ufb01le", "file"),
            ("\u1e9e", "ss"),
        ):
            first, second = (name.encode() for name in names)
            bounded = BoundedFiles()
            bounded.enter("a/", first)
            bounded.enter("", second)
            self.assertRaises(BridgeError, bounded.enter, "A/", second)

    def test_attack_unsafe(self) -> None:
        """Names that some system reads otherwise are refused, without being quoted."""
        # What HFS+ leaves out of a name.
        ignored = [*range(0x200C, 0x2010), *range(0x202A, 0x202F)]
        ignored += [*range(0x206A, 0x2070), 0xFEFF]
        for name in (
            # Ways out.
            *("", ".", "..", "...", "/", "a/b", "../x", "a\\b", "..\\x", "c:", "C:x"),
            *("\u2025", "\uff0f", "\u2024\u2024", "a\uff3cb", "\uff23\uff1a"),
            # Git's directory in disguise.
            *(".git", ".GiT", ".git.", ".git...", ".git ", "git~1", "GIT~99"),
            *(".git::$DATA", ".g\u200cit", ".git\ufeff", "\uff0egit", ".git\\config"),
            *(".\U0001d420it", ".g\u0131t\u200d"),
            *(f".g{chr(code)}it" for code in ignored),
            *(f"a{chr(code)}" for code in ignored),
            # Control, line-breaking, private and unassigned characters.
            *("a\0", "a\n", "\x1b[0m", "\x7f", "\x9b", "\u2028", "\ue000", "\uffff"),
            # No text.
            *(b"\xff", b"\xc0\xae", b"\xed\xa0\x80"),
            # Devices and short names of Windows, wildcards, final dots and spaces.
            *("con", "Con.ts", "NUL", "com1.x.y", "lpt9", "com\u00b2", "conin$"),
            *("aux .ts", "PROGRA~1", "a~1.txt", "a*", "a?", "a<", 'a"', "a|"),
            *("a.", "a ", " a", "a\u00a0", "a.."),
            # Over 255 bytes.
            *("x" * 256, "\u00e9" * 128),
        ):
            raw = name if isinstance(name, bytes) else name.encode()
            words = self.assertRaises(BridgeError, check_name, raw).message
            self.assertIn("clone_failed: an unsafe file name", words)
        # What a system that does not write names in UTF-8 would call otherwise.
        self.patch(sys, "getfilesystemencoding", lambda: "iso8859-1")
        self.assertRaises(BridgeError, check_name, "caf\u00e9.md".encode())


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
        with mock.patch.object(files, "read_bounded", side_effect=PermissionError):
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
