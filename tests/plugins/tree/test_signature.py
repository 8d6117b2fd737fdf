"""``plugin.sig``."""

import json
from typing import Any

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from bridge.plugins.tree.signature import Signed, public_key_of, sign_tree, verify_tree
from bridge.plugins.tree.tree import Tree
from bridge.protocol.errors import BridgeError, Code
from bridge.settings.host import load_profile

from .test_tree import VECTOR, VECTOR_DIGEST

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
                    ("id", "wrong type", [1]),
                    ("publicKey", digits, ("a" * 63, "g" * 64, "٣" * 64)),
                    ("digest", digits, ("a" * 65, "a" * 63 + "\n")),
                    ("signature", "128 characters, matching [0-9A-Fa-f]+", [""]),
                    ("signedAt", "0 to 9223372036854775807", [-1]),
                    ("signedAt", "wrong type", (1.5, True, "1", None)),
                    ("version", "wrong type", (True, 1.0)),
                )
                for one in values
            ),
        ):
            refused = self.refusal(value)
            self.assertTrue(refused.startswith(f"unsigned: {words}"), refused)
