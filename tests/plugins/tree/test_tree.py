"""A tree in memory: its walk, its limits and its digest."""

import hashlib
import os
import shutil
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bridge.datadir import ownership
from bridge.plugins.tree import tree as module
from bridge.plugins.tree.tree import Tree, read_tree
from bridge.protocol.errors import BridgeError
from bridge.protocol.limits import TREE_BYTES
from bridge.system.files import read_bounded

from ...directories import fresh_directory, write_files

DOMAIN = "vrcnext-plugin-tree-v1"
VECTOR = {
    "plugin.json": b'{"id":"demo"}',
    "main.ts": b"export default 1",
    "src/a.ts": b"export const a = 1",
}
VECTOR_DIGEST = "1e2ef9cbb40b8254f9c0f8d407561178900dbcf24a267c07e344b1aef0ee61ce"


def digest_by_the_rules(files: dict[str, bytes]) -> str:
    """The digest by its rules, in one expression."""
    return hashlib.sha256(
        f"{DOMAIN}\n".encode()
        + b"".join(
            path.encode() + b"\0" + len(content).to_bytes(8, "little") + content
            for path, content in sorted(files.items(), key=lambda f: f[0].encode())
        )
    ).hexdigest()


class TreeTestCase(SynchronousTestCase):
    def setUp(self):
        self.root = fresh_directory(self)
        write_files(self.root, VECTOR)

    def digest(self) -> str:
        return read_tree(self.root).digest(DOMAIN)

    def assert_refused(self, words: str) -> None:
        """The tree has no digest, and ``words`` are the reason."""
        error = self.assertRaises(BridgeError, read_tree, self.root)
        self.assertEqual(error.message, words)


class DigestTests(TreeTestCase):
    def test_covered(self):
        """Every file counts, by the order of the bytes of its whole path."""
        more = dict.fromkeys((".hidden", "src/plugin.sig", ".github/x"), b"")
        # As UTF-16, the order of the last two is the other way round.
        names = ("a/b", "a-b", "a.b", "a0", "Z", "\u00e9", "\ufb01", "\U0001f600")
        more |= {name: name.encode() for name in names}
        write_files(self.root, more)
        self.assertEqual(self.digest(), digest_by_the_rules(VECTOR | more))

    def test_not_covered(self):
        """The signature, what is git's, modes and empty directories do not count."""
        write_files(self.root, {".git/HEAD": b"x", "plugin.sig": b"x"})
        (self.root / "empty" / "inner").mkdir(parents=True)
        (self.root / "main.ts").chmod(0o700)
        self.assertEqual(self.digest(), VECTOR_DIGEST)


class WriteTests(TreeTestCase):
    def test_written_and_read(self):
        """What was written is read again as it was; nobody else may read it."""
        root, tree = fresh_directory(self), Tree(VECTOR)
        ownership.write_files(root, tree.files)
        self.assertEqual(read_tree(root).files, tree.files)
        self.assertEqual((root / "src" / "a.ts").stat().st_mode & 0o777, 0o600)
        self.assertEqual((root / "src").stat().st_mode & 0o777, 0o700)

    def test_attack_link_in_the_way(self):
        """A link where a file should go is not followed, nor is a file replaced."""
        root = fresh_directory(self)
        (root / "main.ts").symlink_to(root / "elsewhere")
        files = {"main.ts": b"x"}
        self.assertRaises(FileExistsError, ownership.write_files, root, files)
        self.assertFalse((root / "elsewhere").exists())


class RefusedTests(TreeTestCase):
    def test_attack_symlink(self):
        """A link anywhere refuses the tree, whatever it is called."""
        for path in ("link", "src/link", "plugin.sig", "plugin.json", ".git"):
            (self.root / path).unlink(missing_ok=True)
            (self.root / path).symlink_to("/etc/passwd")
            self.assert_refused(f"policy: {path}:1 symlink")
            (self.root / path).unlink()

    def test_attack_submodule(self):
        """A repository in the tree refuses it, as does a file of git's name."""
        for path, words in (
            ("src/.git/config", "policy: src:1 submodule"),
            ("lib/.git", "policy: lib:1 submodule"),
            (".git", "policy: .git:1 submodule"),
        ):
            write_files(self.root, {path: b""})
            self.assert_refused(words)
            shutil.rmtree(self.root)
            write_files(self.root, VECTOR)

    def test_attack_pipe(self):
        """A named pipe refuses the tree, and nobody waits for its writer."""
        os.mkfifo(self.root / "src" / "pipe")
        self.assert_refused("policy: src/pipe:1 not a regular file")

    def test_attack_many_files(self):
        """The 2001st file is refused, without the signature."""
        write_files(self.root, {f"f{i}": b"" for i in range(1997)})
        write_files(self.root, {"plugin.sig": b"x"})
        self.digest()
        for name in ("more", "yet-more"):
            write_files(self.root, {name: b""})
            self.assert_refused("unsigned: the tree has more than 2000 files")
        self.assertRaises(BridgeError, Tree, {f"f{i}": b"" for i in range(2001)})

    def test_attack_many_directories(self):
        """Directories without files are counted too."""
        self.patch(module, "CLONE_OBJECTS", 20)
        (self.root / "/".join("d" * 30)).mkdir(parents=True)
        self.assert_refused("unsigned: the tree has more than 20 directories")

    def test_attack_large_tree(self):
        """One byte over 16 MiB is refused, and what is far over is not read."""
        write_files(self.root, {"plugin.sig": b"x" * 100})
        rest = 16 * 1024 * 1024 - sum(map(len, VECTOR.values()))
        for size in (rest, rest + 1, 1 << 40):
            with (self.root / "large").open("wb") as file:
                file.truncate(size)
            if size == rest:
                self.digest()
            else:
                words = "unsigned: the tree is larger than 16777216 bytes"
                self.assert_refused(words)

    def test_attack_reads_no_more_than_it_may(self):
        """What does not fit any more is not even read, nor are further files."""
        self.patch(module, "TREE_FILES", 3)
        for size, most in ((TREE_BYTES // 2, 3), (0, 4)):
            for number in range(6):
                with (self.root / f"{number}").open("wb") as file:
                    file.truncate(size)
            with mock.patch.object(module, "read_bounded", wraps=read_bounded) as read:
                self.assertRaises(BridgeError, read_tree, self.root)
            self.assertLessEqual(read.call_count, most)

    def test_attack_names(self):
        """Names that other systems would read otherwise are refused."""
        for name, words in (
            (b"a\\b", "a\\b has a backslash in its name"),
            (b"a\xff", "a is not UTF-8 in its name"),
            (b"\x1b[2J\\", "[2J\\ has a backslash in its name"),
        ):
            path = os.path.join(os.fsencode(self.root), name)
            with open(path, "wb"):
                pass
            self.assert_refused(f"unsigned: {words}")
            os.unlink(path)

    def test_unreadable(self):
        """A file or a directory the system does not let us read is named."""
        broken = mock.Mock(side_effect=OSError(5, "broken"))
        self.patch(module, "read_bounded", broken)
        (self.root / "src" / "a.ts").unlink()
        (self.root / "plugin.json").unlink()
        self.assert_refused("unsigned: main.ts cannot be read: broken")
        self.root = self.root / "nowhere"
        none = "No such file or directory"
        self.assert_refused(f"unsigned: the tree cannot be read: {none}")
