"""``plugin-bridge verify``."""

import json

from bridge.plugins.tree.signature import key_id, public_key_of

from .test_sign import NOW, SEED, SignTestCase


class VerifyTests(SignTestCase):
    """Verifying a tree."""

    def run_verify(self, *arguments):
        return self.run_main("verify", *arguments, str(self.plugin))

    def refusal(self):
        """Verify what is refused; gives the line."""
        return self.failed(self.run_verify())

    def test_signed(self):
        """What verifies is named, with its key's fingerprint and its date, if any."""
        self.assert_signed()
        out = self.done(self.run_verify())
        for words in ("demo 1.2.3", key_id(public_key_of(SEED)), "2026-09-2"):
            self.assertIn(words, out)
        key = key_id(public_key_of(SEED))
        found = {"id": "demo", "version": "1.2.3", "keyId": key, "signedAt": NOW}
        self.assertEqual(json.loads(self.done(self.run_verify("--json"))), found)
        path = self.plugin / "plugin.sig"
        path.write_text(path.read_text().replace(f'"signedAt": {NOW}', '"signedAt": 0'))
        self.assertNotIn("dated", self.done(self.run_verify()))

    def test_refused(self):
        """The words are those of an install: unsigned, changed, no manifest."""
        self.assertIn("unsigned: there is no plugin.sig", self.refusal())
        self.assert_signed()
        self.write("main.ts", "export default 2\n")
        self.assertIn("unsigned: the tree", self.refusal())
        (self.plugin / "plugin.json").unlink()
        self.assertIn("no_manifest: ", self.refusal())
        self.assertEqual(self.run_main("verify")[0], 2)
