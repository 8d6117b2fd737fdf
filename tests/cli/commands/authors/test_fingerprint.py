"""``plugin-bridge fingerprint``."""

from __future__ import annotations

import json
import os
from functools import partial
from unittest import mock

from bridge.cli.commands.authors.fingerprint import main
from bridge.plugins.tree.signature import key_id, public_key_of

from .test_keygen import CommandTestCase

SEED = b"\x01" * 32


class FingerprintTests(CommandTestCase):
    """Printing it."""

    def fingerprint(self, *arguments):
        """Run the command."""
        return self.run_command(partial(main, list(arguments)))

    def test_of_a_file(self):
        """The fingerprint of a key file is all that is printed."""
        path = self.root / "key"
        path.write_text(SEED.hex() + "\n")
        status, out, err = self.fingerprint("--key", str(path))
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out, key_id(public_key_of(SEED)) + "\n")
        _, out, _ = self.fingerprint("--json", "--key", str(path))
        self.assertEqual(json.loads(out), {"keyId": key_id(public_key_of(SEED))})

    def test_of_the_variable(self):
        """So is that of the key in the environment."""
        with mock.patch.dict(os.environ, {"BRIDGE_SIGNING_KEY": SEED.hex()}):
            status, out, _ = self.fingerprint()
        self.assertEqual((status, out), (0, key_id(public_key_of(SEED)) + "\n"))

    def test_no_key(self):
        """A missing key is reported in one line."""
        status, out, err = self.fingerprint("--key", str(self.root / "no"))
        self.assertEqual((status, out), (1, ""))
        self.assertIn("plugin-bridge fingerprint: there is no key file", err)
        _, out, _ = self.fingerprint("--json", "--key", str(self.root / "no"))
        self.assertEqual(json.loads(out)["error"]["code"], "failed")
