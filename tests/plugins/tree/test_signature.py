"""``plugin.sig``."""

from __future__ import annotations

import json
import os
from typing import Any

from attrs import evolve
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.tree.signature import (
    Signed,
    key_id,
    public_key_of,
    read_signature,
    sign_tree,
    verify_tree,
)
from bridge.plugins.tree.tree import Tree, read_tree
from bridge.protocol.errors import BridgeError, Code
from bridge.settings.host import load_profile

from .test_tree import VECTOR, VECTOR_DIGEST, TreeTestCase, write_tree

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
# The order of the group Ed25519 signs in.
ORDER = 2**252 + 27742317777372353535851937790883648493


class SignedTreeTestCase(TreeTestCase):
    """A test with the signed tree of the test vector."""

    def setUp(self):
        """Make the tree and sign it."""
        super().setUp()
        self.write(FILE)

    def write(self, value: object) -> None:
        """Replace the signature file."""
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        (self.root / "plugin.sig").write_bytes(content)

    def verify(self, plugin_id: str = "demo", now: float = NOW) -> Signed:
        """Verify the tree."""
        return verify_tree(read_tree(self.root), plugin_id, HOST, now)

    def refusal(self, plugin_id: str = "demo") -> str:
        """The message the tree is refused with."""
        with self.assertRaises(BridgeError) as caught:
            self.verify(plugin_id)
        self.assertIs(caught.exception.code, Code.BAD_REQUEST)
        message: str = caught.exception.message
        return message


class VectorTests(SignedTreeTestCase):
    """The published test vector, and what others make of our signatures."""

    def test_verify(self):
        """The published signature verifies."""
        self.assertEqual(self.verify(), Signed(KEY_ID, PUBLIC_KEY, NOW, VECTOR_DIGEST))

    def test_sign(self):
        """Signing gives the published signature, in the published form."""
        text = sign_tree(read_tree(self.root), "demo", HOST, SEED, NOW)
        self.assertEqual(text.decode(), json.dumps(FILE, indent=2) + "\n")
        self.assertEqual(sign_tree(Tree(VECTOR), "demo", HOST, SEED, NOW), text)

    def test_key_id(self):
        """Fingerprints are the published ones, whatever the case of the key."""
        self.assertEqual(key_id(PUBLIC_KEY), KEY_ID)
        self.assertEqual(key_id(PUBLIC_KEY.upper()), KEY_ID)
        self.assertEqual(len(KEY_ID), 39)

    def test_independent_signer(self):
        """What another implementation signs by the rules verifies."""
        key = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
        message = f"vrcnext-plugin-signature-v1\ndemo\n{VECTOR_DIGEST}\n".encode()
        public = key.public_key().public_bytes_raw().hex()
        self.write({**FILE, "publicKey": public, "signature": key.sign(message).hex()})
        self.assertEqual(self.verify().public_key, public)

    def test_independent_verifier(self):
        """What we sign, another implementation verifies by the rules."""
        for seed in (SEED, b"\x07" * 32, os.urandom(32)):
            made = json.loads(sign_tree(read_tree(self.root), "demo", HOST, seed, NOW))
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(made["publicKey"]))
            message = f"vrcnext-plugin-signature-v1\ndemo\n{made['digest']}\n".encode()
            key.verify(bytes.fromhex(made["signature"]), message)
            self.assertEqual(public_key_of(seed), made["publicKey"])

    def test_other_domain(self):
        """A signature made for one host application is none for another."""
        reference = load_profile("reference")
        self.write(sign_tree(read_tree(self.root), "demo", reference, SEED, NOW))
        self.assertEqual(self.refusal(), CHANGED)
        verify_tree(read_tree(self.root), "demo", reference, NOW)
        other = evolve(HOST, signature_domain="x")
        self.write({**FILE, "digest": Tree(VECTOR).digest(other.tree_domain)})
        with self.assertRaises(BridgeError) as caught:
            verify_tree(read_tree(self.root), "demo", other, NOW)
        self.assertEqual(caught.exception.message, NOT_BY_KEY)


class AcceptedTests(SignedTreeTestCase):
    """What the rules leave free."""

    def test_upper_case(self):
        """Hexadecimal digits may be upper case; what is answered never is."""
        for name in ("publicKey", "digest", "signature"):
            self.write({**FILE, name: FILE[name].upper()})
            self.assertEqual(
                self.verify(), Signed(KEY_ID, PUBLIC_KEY, NOW, VECTOR_DIGEST)
            )

    def test_no_date(self):
        """A signature without a date is as old as can be."""
        self.write({k: v for k, v in FILE.items() if k != "signedAt"})
        self.assertEqual(self.verify().signed_at, 0)

    def test_a_clock_that_is_behind(self):
        """A signature may be ten minutes ahead of our clock."""
        self.write({**FILE, "signedAt": NOW + 600})
        self.assertEqual(self.verify().signed_at, NOW + 600)

    def test_git_does_not_count(self):
        """What git keeps alongside the files changes nothing."""
        write_tree(self.root, {".git/config": b"[core]"})
        self.verify()


class AttackTests(SignedTreeTestCase):
    """What somebody without the key can try."""

    def test_attack_changed_tree(self):
        """A file that was edited, added, removed or renamed is refused."""
        a = "src/a.ts"
        for change in (
            lambda root: write_tree(root, {"main.ts": b"export default 2"}),
            lambda root: write_tree(root, {"src/b.ts": b""}),
            lambda root: (root / a).unlink(),
            lambda root: (root / a).rename(root / "src" / "b.ts"),
        ):
            self.setUp()
            change(self.root)
            self.assertEqual(self.refusal(), CHANGED)

    def test_attack_moved_boundary(self):
        """Bytes moved from the end of one file to the start of the next are refused."""
        write_tree(self.root, {"a": b"12", "b": b"3"})
        self.write(sign_tree(read_tree(self.root), "demo", HOST, SEED, NOW))
        self.verify()
        write_tree(self.root, {"a": b"1", "b": b"23"})
        self.assertEqual(self.refusal(), CHANGED)

    def test_attack_new_digest_old_signature(self):
        """A digest put right after a change no longer has a signature."""
        write_tree(self.root, {"main.ts": b"export default 2"})
        made = json.loads(
            sign_tree(read_tree(self.root), "demo", HOST, b"\x02" * 32, NOW)
        )
        self.write({**FILE, "digest": made["digest"]})
        self.assertEqual(self.refusal(), NOT_BY_KEY)

    def test_attack_swapped_id(self):
        """Writing another id into the file does not make the signature one for it."""
        self.write({**FILE, "id": "other"})
        self.assertEqual(self.refusal("other"), NOT_BY_KEY)

    def test_attack_replayed_on_another_plugin(self):
        """A signature of one plugin is refused on another."""
        self.assertEqual(
            self.refusal("other"),
            "unsigned: plugin.sig was made for another plugin id",
        )

    def test_attack_line_in_id(self):
        """An id that would fake the lines of the signed message is another id."""
        self.write({**FILE, "id": f"demo\n{VECTOR_DIGEST}"})
        self.assertIn("another plugin id", self.refusal())

    def test_attack_other_key(self):
        """A signature is not one of another key."""
        self.write({**FILE, "publicKey": public_key_of(b"\x02" * 32)})
        self.assertEqual(self.refusal(), NOT_BY_KEY)

    def test_attack_small_order_key(self):
        """Keys under which one signature fits any message are refused."""
        for point in (
            "01" + "00" * 31,  # the identity
            "00" * 32,
            "ec" + "ff" * 30 + "7f",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        ):
            for r in ("01" + "00" * 31, point):
                forged = {**FILE, "publicKey": point, "signature": r + "00" * 32}
                self.write(forged)
                self.assertEqual(self.refusal(), NOT_BY_KEY)

    def test_attack_no_point(self):
        """A key that is no point of the curve is refused."""
        self.write({**FILE, "publicKey": "02" + "00" * 31})
        self.assertEqual(self.refusal(), NOT_BY_KEY)

    def test_attack_malleable_signature(self):
        """The same signature written as another number is refused."""
        s = int.from_bytes(bytes.fromhex(SIGNATURE[64:]), "little") + ORDER
        other = SIGNATURE[:64] + s.to_bytes(32, "little").hex()
        self.write({**FILE, "signature": other})
        self.assertEqual(self.refusal(), NOT_BY_KEY)

    def test_attack_year_9999(self):
        """A date far ahead, which would make every later update old, is refused."""
        for ahead in (NOW + 601, 253_370_764_800, 2**63 - 1):
            self.write({**FILE, "signedAt": ahead})
            self.assertEqual(
                self.refusal(),
                "unsigned: signedAt is more than 10 minutes ahead of this computer's "
                "clock",
            )

    def test_attack_symlink(self):
        """A tree with a link, and a signature that is one, are refused."""
        (self.root / "link").symlink_to("/etc/passwd")
        self.assertEqual(self.refusal(), "policy: link:1 symlink")
        (self.root / "link").unlink()
        (self.root / "plugin.sig").unlink()
        (self.root / "plugin.sig").symlink_to("/etc/passwd")
        self.assertEqual(self.refusal(), "policy: plugin.sig:1 symlink")


class UnusableTests(SignedTreeTestCase):
    """Signature files without content."""

    def assert_file_refused(self, value: object, words: str) -> None:
        """``value`` as signature file is refused with ``words`` alone."""
        self.write(value)
        self.assertEqual(self.refusal(), f"unsigned: {words}")

    def assert_unusable(self, value: object, words: str) -> None:
        """``value`` as signature file is refused with ``words``."""
        self.write(value)
        self.assertEqual(self.refusal(), f"unsigned: plugin.sig is not usable: {words}")

    def test_missing(self):
        """A tree without a signature is reported."""
        (self.root / "plugin.sig").unlink()
        self.assertEqual(self.refusal(), "unsigned: there is no plugin.sig at the root")

    def test_attack_10_mb(self):
        """A signature file over 64 KiB is not parsed."""
        self.assert_unusable(b" " * 10_000_000, "it is larger than 65536 bytes")
        with self.assertRaises(BridgeError):
            read_signature(b" " * 65537)

    def test_attack_duplicate_keys(self):
        """Readers that differ on which of two keys counts are not set apart."""
        text = json.dumps(FILE)[:-1].encode()
        self.assert_file_refused(
            text + b',"id":"demo"}',
            f"plugin.sig:1:{len(text) + 2} an object has a key twice",
        )

    def test_version_2(self):
        """Another version is named as such, whatever fields it has."""
        for version in (2, 0, "1", None, [1]):
            self.assert_unusable({"version": version, "keys": []}, "version: must be 1")

    def test_not_an_object(self):
        """What is not one JSON object is not usable."""
        for content, words in (
            (b"", "1:1 the end of the file came too early"),
            (b"{\n", "2:1 the end of the file came too early"),
            (b"\xff", "1:1 expected UTF-8"),
            (b"\xef\xbb\xbf{}", "1:1 a byte order mark"),
            (b"{}x", "1:3 expected the end of the file"),
            (b"[" * 9999, " not JSON"),
        ):
            self.assert_file_refused(content, f"plugin.sig:{words}")
        for content in (b"[]", b"null", b'"plugin"', b"1"):
            self.assert_unusable(content, "must be an object")

    def test_fields(self):
        """Each field has a rule, and the message names both."""
        for field, value, words in (
            ("algorithm", "ed448", "one of ed25519"),
            ("algorithm", "ED25519", "one of ed25519"),
            ("id", 1, "wrong type"),
            ("publicKey", "a" * 63, "64 characters, matching [0-9A-Fa-f]+"),
            ("publicKey", "g" * 64, "64 characters, matching [0-9A-Fa-f]+"),
            ("publicKey", "٣" * 64, "64 characters, matching [0-9A-Fa-f]+"),
            ("digest", "a" * 65, "64 characters, matching [0-9A-Fa-f]+"),
            ("digest", "a" * 63 + "\n", "64 characters, matching [0-9A-Fa-f]+"),
            ("signature", "", "128 characters, matching [0-9A-Fa-f]+"),
            ("signedAt", -1, "0 to 9223372036854775807"),
            ("signedAt", 1.5, "wrong type"),
            ("signedAt", True, "wrong type"),
            ("signedAt", "1", "wrong type"),
            ("signedAt", None, "wrong type"),
            ("version", True, "wrong type"),
            ("version", 1.0, "wrong type"),
        ):
            self.assert_unusable({**FILE, field: value}, f"{field}: {words}")

    def test_missing_fields(self):
        """Every field but the date is required."""
        for field in FILE:
            if field != "signedAt":
                self.assert_unusable(
                    {k: v for k, v in FILE.items() if k != field}, f"{field}: required"
                )

    def test_unknown_field(self):
        """A field that version 1 does not have is refused."""
        place = f"plugin.sig:1:{len(json.dumps(FILE)) + 2}"
        self.assert_file_refused(
            {**FILE, "Zq9": 1},
            f"{place} unknown field; the fields are version, algorithm, id, publicKey, "
            "digest, signature, signedAt",
        )
        self.assert_file_refused(
            {**FILE, "public_key": 1}, f"{place} unknown field; did you mean publicKey?"
        )


class AnyBytesTests(SynchronousTestCase):
    """No input does anything but pass or be refused."""

    @settings(deadline=None)
    @given(st.binary(max_size=200))
    def test_bytes(self, content: bytes):
        """Any bytes are a signature file or a refusal."""
        self._validate(content)

    @settings(deadline=None)
    @given(
        st.sampled_from(list(FILE)),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text()
        | st.text("0123456789abcdefABCDEF", min_size=64, max_size=64)
        | st.lists(st.integers(), max_size=2),
    )
    def test_fields(self, field: str, value: Any):
        """Any value in a field passes or is refused, and never makes it signed."""
        self._validate(json.dumps({**FILE, field: value}).encode())

    def _validate(self, content: bytes) -> None:
        try:
            tree = Tree({**VECTOR, "plugin.sig": content})
            signed = verify_tree(tree, "demo", HOST, NOW)
        except BridgeError as e:
            self.assertTrue(e.message.startswith("unsigned: "), e.message)
        else:
            self.assertEqual((signed.key_id, signed.digest), (KEY_ID, VECTOR_DIGEST))
