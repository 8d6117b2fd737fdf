"""The digest of a tree."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.tree import digest as module
from bridge.plugins.tree.digest import files_digest, tree_digest
from bridge.protocol.errors import BridgeError

from ...directories import fresh_directory

DOMAIN = "vrcnext-plugin-tree-v1"
VECTOR = {
    "plugin.json": b'{"id":"demo"}',
    "main.ts": b"export default 1",
    "src/a.ts": b"export const a = 1",
}
VECTOR_DIGEST = "1e2ef9cbb40b8254f9c0f8d407561178900dbcf24a267c07e344b1aef0ee61ce"


def write_tree(root: Path, files: dict[str, bytes]) -> None:
    """Write files below ``root``."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


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
    """A test with the tree of the test vector."""

    def setUp(self):
        """Make the tree."""
        self.root = fresh_directory(self)
        write_tree(self.root, VECTOR)

    def digest(self) -> str:
        """The tree's digest."""
        return tree_digest(self.root, DOMAIN)

    def assert_refused(self, words: str) -> None:
        """The tree has no digest, and ``words`` are the reason."""
        with self.assertRaises(BridgeError) as caught:
            self.digest()
        self.assertEqual(caught.exception.message, f"unsigned: {words}")


class DigestTests(TreeTestCase):
    """What is in the digest."""

    def test_vector(self):
        """The published test vector gives the published digest."""
        self.assertEqual(self.digest(), VECTOR_DIGEST)
        self.assertEqual(files_digest(VECTOR, DOMAIN), VECTOR_DIGEST)
        self.assertEqual(digest_by_the_rules(VECTOR), VECTOR_DIGEST)

    def test_not_covered(self):
        """Git's own files, the signature, empty directories and modes do not count."""
        write_tree(
            self.root, {".git/HEAD": b"x", "src/.git/config": b"x", "plugin.sig": b"x"}
        )
        (self.root / "empty" / "inner").mkdir(parents=True)
        (self.root / "main.ts").chmod(0o700)
        self.assertEqual(self.digest(), VECTOR_DIGEST)

    def test_covered(self):
        """Hidden files, a signature's name elsewhere and a file .git do count."""
        for path in (".hidden", "src/plugin.sig", "plugin.sig2", ".github/x", "x/.git"):
            write_tree(self.root, {path: b""})
            self.assertEqual(
                self.digest(), digest_by_the_rules({**VECTOR, path: b""}), path
            )
            (self.root / path).unlink()

    def test_order_is_of_bytes(self):
        """Files are in the order of their whole paths' UTF-8 bytes."""
        files = {
            "a/b": b"1",
            "a-b": b"2",
            "a.b": b"3",
            "a0": b"4",
            "Z": b"5",
            # As UTF-16, the order of these two is the other way round.
            "\ufb01": b"6",
            "\U0001f600": b"7",
            "é": b"8",
        }
        shutil.rmtree(self.root / "src")
        write_tree(self.root, files)
        tree = {k: v for k, v in VECTOR.items() if not k.startswith("src")}
        self.assertEqual(self.digest(), digest_by_the_rules(tree | files))

    def test_larger_than_a_chunk(self):
        """A file is hashed the same however many times it is read from."""
        self.patch(module, "_CHUNK_BYTES", 7)
        self.assertEqual(self.digest(), VECTOR_DIGEST)

    @settings(deadline=None, max_examples=30)
    @given(
        st.dictionaries(
            st.text("ab.-é\U0001f600", min_size=1, max_size=3).map(lambda t: "f" + t),
            st.binary(max_size=20),
            max_size=5,
        )
    )
    def test_memory_and_disk(self, files: dict[str, bytes]):
        """Files have one digest, on disk, in memory and by the rules."""
        with tempfile.TemporaryDirectory() as directory:
            write_tree(Path(directory), files)
            on_disk = tree_digest(Path(directory), DOMAIN)
        self.assertEqual(on_disk, files_digest(files, DOMAIN))
        self.assertEqual(on_disk, digest_by_the_rules(files))


class RefusedTests(TreeTestCase):
    """What has no digest."""

    def test_attack_symlink(self):
        """A link anywhere refuses the tree, whatever it is called."""
        for path in ("link", "src/link", "plugin.sig", ".git"):
            with self.subTest(path):
                (self.root / path).symlink_to("/etc/passwd")
                self.assert_refused(f"{path} is a symbolic link")
                (self.root / path).unlink()

    def test_attack_pipe(self):
        """A named pipe refuses the tree, and nobody waits for its writer."""
        os.mkfifo(self.root / "src" / "pipe")
        self.assert_refused("src/pipe is not a regular file")

    def test_attack_many_files(self):
        """The 2001st file is refused."""
        write_tree(self.root, {f"f{i}": b"" for i in range(1997)})
        self.digest()
        write_tree(self.root, {"more": b""})
        self.assert_refused("the tree has more than 2000 files")
        with self.assertRaises(BridgeError):
            files_digest({f"f{i}": b"" for i in range(2001)}, DOMAIN)

    def test_attack_many_directories(self):
        """Directories without files are counted too."""
        self.patch(module, "CLONE_OBJECTS", 20)
        (self.root / "/".join("d" * 30)).mkdir(parents=True)
        self.assert_refused("the tree has more than 20 directories")

    def test_attack_large_tree(self):
        """One byte over 16 MiB is refused, before it is read."""
        rest = 16 * 1024 * 1024 - sum(map(len, VECTOR.values()))
        for size in (rest, rest + 1, 1 << 40):
            with (self.root / "large").open("wb") as file:
                file.truncate(size)
            if size == rest:
                self.digest()
            else:
                self.assert_refused("the tree is larger than 16777216 bytes")

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
            self.assert_refused(words)
            os.unlink(path)

    def test_attack_changed_while_read(self):
        """A file that grows or shrinks under the reader is refused."""
        real = module._chunks
        for longer in (True, False):

            def raced(fd, size, longer=longer):
                yield from real(fd, size) if longer else ()
                yield b"more"

            self.patch(module, "_chunks", raced)
            self.assert_refused("main.ts changed while it was read")

    def test_attack_grows_behind_a_whole_piece(self):
        """That a file has grown is seen, however its size fits what is read at once."""
        for size in (module._CHUNK_BYTES, module._CHUNK_BYTES + 1):
            (self.root / "main.ts").write_bytes(bytes(size + 1))
            real = module.open_descriptor

            def shorter(path, size=size, real=real):
                fd, found = real(path)
                return fd, size if found == size + 1 else found

            with mock.patch.object(module, "open_descriptor", shorter):
                self.assert_refused("main.ts changed while it was read")

    def test_unreadable(self):
        """A file or a directory the system does not let us read is named."""

        def refuse(path):
            raise PermissionError

        self.patch(module, "open_descriptor", refuse)
        self.assert_refused("main.ts cannot be read")
        self.root = self.root / "nowhere"
        self.assert_refused("the tree cannot be read")
