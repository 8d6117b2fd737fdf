"""A tree in memory: its walk, its limits, its digest and its signature."""

import hashlib
import json
import os
import shutil
from typing import Any
from unittest import mock

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from bridge.datadir import paths
from bridge.plugins.tree import tree as module
from bridge.plugins.tree.tree import (
    Signed,
    Tree,
    public_key_of,
    read_tree,
    sign_tree,
    verify_tree,
)
from bridge.protocol.errors import BridgeError, Code
from bridge.protocol.limits import TREE_BYTES
from bridge.settings.host import load_profile
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
        empty = (".hidden", ".a/x", "(x)/y", "src/plugin.sig", ".github/x")
        more = dict.fromkeys(empty, b"")
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
        paths.write_files(root, tree.files)
        self.assertEqual(read_tree(root).files, tree.files)
        self.assertEqual((root / "src" / "a.ts").stat().st_mode & 0o777, 0o600)
        self.assertEqual((root / "src").stat().st_mode & 0o777, 0o700)

    def test_attack_link_in_the_way(self):
        """A link where a file should go is not followed, nor is a file replaced."""
        root = fresh_directory(self)
        (root / "main.ts").symlink_to(root / "elsewhere")
        files = {"main.ts": b"x"}
        self.assertRaises(FileExistsError, paths.write_files, root, files)
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
            ("(x)/.git/config", "policy: (x):1 submodule"),
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
        (self.root / "/".join("d" * 18)).mkdir(parents=True)
        self.digest()
        (self.root / "/".join("d" * 19)).mkdir()
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


HOST = load_profile("vrcnext")
NOW = 1_790_000_000
SEED = b"\x01" * 32
PUBLIC_KEY = "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"
KEY_ID = "95bb-fbb1-f0ef-8f23-05be-069a-9a2d-7d9d"
SIGNATURE = (
    "d25b0e2147d61cbaa1bd43c1f23a4977f9567359abcb357ed0341983938980aa"
    "3e6e52e8d1d6eddc036e4e23f2e87e634ee0786f3de0d835d2ac5f99e9e39104"
)
FILE: dict[str, Any] = {
    "version": 1,
    "algorithm": "ed25519",
    "id": "demo",
    "publicKey": PUBLIC_KEY,
    "digest": VECTOR_DIGEST,
    "signature": SIGNATURE,
    "signedAt": NOW,
}
CHANGED = (
    "unsigned: the tree was changed after it was signed, or was signed for another "
    "host; which files were changed, added or removed cannot be known from the "
    "signature"
)
NOT_BY_KEY = "unsigned: the signature in plugin.sig is not by its publicKey"
HEXADECIMAL = ("publicKey", "digest", "signature")
# The order of the group Ed25519 signs in.
ORDER = 2**252 + 27742317777372353535851937790883648493


class SignatureTestCase(SynchronousTestCase):
    def verify(self, signature=FILE, files=VECTOR, plugin_id="demo", host=HOST):
        """Verify a tree of these files, with this signature file."""
        is_text = isinstance(signature, bytes)
        content = signature if is_text else json.dumps(signature).encode()
        tree = Tree({**files, "plugin.sig": content})
        return verify_tree(tree, plugin_id, host, NOW)

    def refusal(self, *given: Any, **how: Any) -> str:
        """The message that the tree is refused with; see ``verify``."""
        error = self.assertRaises(BridgeError, self.verify, *given, **how)
        self.assertIs(error.code, Code.BAD_REQUEST)
        return error.message


class VectorTests(SignatureTestCase):
    """The published test vector, and what others make of our signatures."""

    def test_sign(self):
        """Signing gives the published signature, in the published form."""
        text = sign_tree(Tree(VECTOR), "demo", HOST, SEED, NOW)
        self.assertEqual(text.decode(), json.dumps(FILE, indent=2) + "\n")

    def test_other_domain(self):
        """A signature made for one host application is none for another."""
        reference = load_profile("reference")
        text = sign_tree(Tree(VECTOR), "demo", reference, SEED, NOW)
        self.assertEqual(self.refusal(text), CHANGED)
        self.verify(text, host=reference)
        other = evolve(HOST, signature_domain="x")
        forged = {**FILE, "digest": Tree(VECTOR).digest(other.tree_domain)}
        self.assertEqual(self.refusal(forged, host=other), NOT_BY_KEY)


class AcceptedTests(SignatureTestCase):
    """What the rules leave free."""

    def test_accepted(self):
        """Digits of either case, no date, and a clock that is ten minutes behind."""
        signed = Signed(KEY_ID, PUBLIC_KEY, NOW, VECTOR_DIGEST)
        undated = {k: v for k, v in FILE.items() if k != "signedAt"}
        for value, signed_at in (
            *(({**FILE, name: FILE[name].upper()}, NOW) for name in HEXADECIMAL),
            (undated, 0),
            ({**FILE, "signedAt": NOW + 600}, NOW + 600),
        ):
            self.assertEqual(self.verify(value), evolve(signed, signed_at=signed_at))


class AttackTests(SignatureTestCase):
    """What somebody without the key can try."""

    def test_attack_changed_tree(self):
        """A file that was edited, added, removed or renamed is refused."""
        removed = {k: v for k, v in VECTOR.items() if k != "src/a.ts"}
        for files in (
            {**VECTOR, "main.ts": b"export default 2"},
            {**VECTOR, "src/b.ts": b""},
            removed,
            {**removed, "src/b.ts": VECTOR["src/a.ts"]},
            # Bytes are moved from the end of one file to the start of the next.
            VECTOR | {"main.ts": b"export default ", "plugin.json": b'1{"id":"demo"}'},
        ):
            self.assertEqual(self.refusal(files=files), CHANGED)

    def test_attack_not_by_the_key(self):
        """A signature is one of its key, for its id and its digest, in one spelling."""
        edited = {**VECTOR, "main.ts": b"export default 2"}
        changed = Tree(edited).digest(HOST.tree_domain)
        s = int.from_bytes(bytes.fromhex(SIGNATURE[64:]), "little") + ORDER
        small = (
            "01" + "00" * 31,  # the identity
            "00" * 32,
            "ec" + "ff" * 30 + "7f",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        )
        for what, forged in (
            ("a digest put right after a change", {"digest": changed}),
            ("another id", {"id": "other"}),
            ("another key", {"publicKey": public_key_of(b"\x02" * 32)}),
            ("no point of the curve", {"publicKey": "02" + "00" * 31}),
            (
                "the same signature as another number",
                {"signature": SIGNATURE[:64] + s.to_bytes(32, "little").hex()},
            ),
            # Under such a key one signature fits any message.
            *(
                ("small order", {"publicKey": key, "signature": r + "00" * 32})
                for key in small
                for r in (small[0], key)
            ),
        ):
            files = edited if "digest" in forged else VECTOR
            plugin_id = forged.get("id", "demo")
            refusal = self.refusal({**FILE, **forged}, files, plugin_id)
            self.assertEqual(refusal, NOT_BY_KEY, what)

    def test_attack_another_plugin(self):
        """A signature of one plugin is refused on another, whatever its id has."""
        refused = "unsigned: plugin.sig was made for another plugin id"
        self.assertEqual(self.refusal(plugin_id="other"), refused)
        # It would fake the lines of the signed message.
        forged = {**FILE, "id": f"demo\n{VECTOR_DIGEST}"}
        self.assertEqual(self.refusal(forged), refused)

    def test_attack_year_9999(self):
        """A date far ahead, which would make every later update old, is refused."""
        for ahead in (NOW + 601, 253_370_764_800, 2**63 - 1):
            self.assertEqual(
                self.refusal({**FILE, "signedAt": ahead}),
                "unsigned: signedAt is more than 10 minutes ahead of this computer's "
                "clock",
            )


class UnusableTests(SignatureTestCase):
    """Signature files without content."""

    def test_missing(self):
        """A tree without a signature is reported."""
        words = "unsigned: there is no plugin.sig at the root"
        with self.assertRaisesRegex(BridgeError, words):
            verify_tree(Tree(VECTOR), "demo", HOST, NOW)

    def test_attack_unusable(self):
        """What is not one object with the fields of version 1 is refused."""
        text = json.dumps(FILE)[:-1].encode()
        place = f"plugin.sig:1:{len(text) + 3} unknown field"
        not_usable = "plugin.sig is not usable: "
        digits = "64 characters, matching [0-9A-Fa-f]+"
        for value, words in (
            (b"\xef\xbb\xbf{}", "plugin.sig:1:1 not JSON: Unexpected UTF-8 BOM"),
            (b" " * 65_536, "plugin.sig:1:65537 not JSON: Expecting value"),
            (b" " * 65_537, f"{not_usable}it is larger than 65536 bytes"),
            *(
                (one, f"{not_usable}must be an object")
                for one in (b"[]", b"null", b"1")
            ),
            # Another version is named as such, whatever fields it has.
            *(
                ({"version": one, "keys": []}, f"{not_usable}version: must be 1")
                for one in (2, 0, "1", None, [1])
            ),
            *(
                (
                    {k: v for k, v in FILE.items() if k != field},
                    f"{not_usable}{field}: required",
                )
                for field in FILE
                if field != "signedAt"
            ),
            (
                {**FILE, "Zq9": 1},
                f"{place}; the fields are version, algorithm, id, publicKey, digest, "
                "signature, signedAt",
            ),
            *(
                ({**FILE, field: one}, f"{not_usable}{field}: {rule}")
                for field, rule, values in (
                    ("algorithm", "one of ed25519", ("ed448", "ED25519")),
                    ("id", "must be a string", [1]),
                    ("publicKey", digits, ("a" * 63, "g" * 64, "٣" * 64)),
                    ("digest", digits, ("a" * 65, "a" * 63 + "\n")),
                    ("signature", "128 characters, matching [0-9A-Fa-f]+", [""]),
                    ("signedAt", "0 to 9223372036854775807", [-1]),
                    ("signedAt", "must be an integer", (1.5, True, "1", None)),
                    ("version", "must be an integer", (True, 1.0)),
                )
                for one in values
            ),
        ):
            refused = self.refusal(value)
            self.assertTrue(refused.startswith(f"unsigned: {words}"), refused)
