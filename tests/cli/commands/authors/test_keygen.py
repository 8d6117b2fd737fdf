"""``plugin-bridge keygen``."""

import json
import os
import re
import stat
from unittest import mock

from bridge.cli.authoring.keyfiles import default_key_file, parse_seed, read_seed
from bridge.cli.terminal import CommandError
from bridge.plugins.tree.signature import key_id, public_key_of

from ...commandcase import CommandTestCase


class KeygenTests(CommandTestCase):
    """Making a key, and showing one."""

    def setUp(self) -> None:
        super().setUp()
        self.patch(os, "environ", {**os.environ, "XDG_CONFIG_HOME": str(self.root)})
        self.key = self.root / "key"

    def keygen(self, *arguments: str) -> tuple[int, str, str]:
        return self.run_main("keygen", *arguments)

    def test_made(self) -> None:
        """A key is 64 digits only its owner can read; its fingerprint is shown."""
        before = os.umask(0)
        self.addCleanup(os.umask, before)
        keys = set()
        for name in ("one", "two"):
            path = self.root / name
            out = self.done(self.keygen("--out", str(path)))
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
            self.assertTrue(re.fullmatch(r"[0-9a-f]{64}\n", path.read_text()))
            self.assertIn(key_id(public_key_of(read_seed(path))), out)
            self.assertNotIn(path.read_text().strip(), out)
            keys.add(path.read_text())
        self.assertEqual(len(keys), 2)

    def test_attack_overwrite(self) -> None:
        """What is there is never replaced, be it a key or a link to one."""
        self.key.write_text("precious")
        (self.root / "link").symlink_to("nowhere")
        for name in ("key", "link"):
            err = self.failed(self.keygen("--out", str(self.root / name)))
            why = "exists already; it is never replaced\n"
            self.assertEqual(err, f"plugin-bridge keygen: {self.root / name} {why}")
        self.assertEqual(self.key.read_text(), "precious")
        self.assertFalse((self.root / "nowhere").exists())

    def test_cannot_be_written(self) -> None:
        """No directory is made for a named file."""
        self.assert_fails(
            "cannot be written: No such file or directory",
            self.keygen("--out", str(self.root / "nowhere" / "key")),
        )
        self.assertEqual(list(self.root.iterdir()), [])

    def test_default_place(self) -> None:
        """A key goes to its owner's configuration, in a directory only for him."""
        out = self.done(self.keygen())
        path = default_key_file()
        self.assertIn(str(path), out)
        self.assertTrue(path.is_relative_to(self.root))
        self.assertEqual(stat.S_IMODE(path.parent.stat().st_mode), 0o700)

    def test_usage(self) -> None:
        """Nothing is created where no key was asked for."""
        for line in ("extra", "--unknown", "--out", "--key mine", "--show --out mine"):
            self.assertEqual(self.keygen(*line.split())[0], 2, line)
        self.assert_fails(
            "plugin-bridge keygen: there is no key file", self.keygen("--show")
        )
        self.assert_fails(
            "k cannot be read: File name too long",
            self.keygen("--show", "--key", "k" * 256),
        )
        self.assertEqual(list(self.root.iterdir()), [])

    def test_shown(self) -> None:
        """The fingerprint of a key file, or of the variable, is all that is printed."""
        self.key.write_text("01" * 32)
        wanted = key_id(public_key_of(b"\x01" * 32))
        show = ("--show", "--key", str(self.key))
        self.assertEqual(self.keygen(*show), (0, f"{wanted}\n", ""))
        self.assertEqual(json.loads(self.keygen("--json", *show)[1]), {"keyId": wanted})
        with mock.patch.dict(os.environ, {"BRIDGE_SIGNING_KEY": "02" * 32}):
            wanted = key_id(public_key_of(b"\x02" * 32))
            self.assertEqual(self.keygen("--show"), (0, f"{wanted}\n", ""))

    def test_read(self) -> None:
        """Digits of either case are a key; what is none is not repeated."""
        self.assertEqual(parse_seed(f" {'aB' * 32}\r\n", "x"), b"\xab" * 32)
        why = f"{self.key} does not hold 64 hexadecimal digits"
        for content in (b"", b"Zq9" * 22, b"a" * 63, b"a" * 65, b"\xff" * 64, b"\0"):
            self.key.write_bytes(content)
            error = self.assertRaises(CommandError, read_seed, self.key)
            self.assertEqual(str(error), why)
        for path, why in (
            (self.root / "no", "plugin-bridge keygen creates one"),
            (self.root, "cannot be read: Is a directory"),
        ):
            error = self.assertRaises(CommandError, read_seed, path)
            self.assertIn(why, str(error))
