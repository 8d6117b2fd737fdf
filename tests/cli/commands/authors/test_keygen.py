"""``plugin-bridge keygen``."""

from __future__ import annotations

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
    """Making a key."""

    def keygen(self, *arguments: str) -> tuple[int, str, str]:
        """Run ``keygen``."""
        return self.run_main("keygen", *arguments)

    def test_made(self):
        """A key is 64 digits only its owner can read; its fingerprint is printed."""
        path = self.root / "key"
        before = os.umask(0)
        self.addCleanup(os.umask, before)
        status, out, err = self.keygen("--out", str(path))
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertTrue(re.fullmatch(r"[0-9a-f]{64}\n", path.read_text()))
        self.assertIn(key_id(public_key_of(read_seed(path))), out)
        self.assertNotIn(path.read_text().strip(), out)

    def test_keys_differ(self):
        """No two keys are the same."""
        for name in ("one", "two"):
            self.keygen("--out", str(self.root / name))
        self.assertNotEqual(
            (self.root / "one").read_text(), (self.root / "two").read_text()
        )

    def test_attack_overwrite(self):
        """What is there is never replaced, be it a key or a link to one."""
        key = self.root / "key"
        key.write_text("precious")
        (self.root / "link").symlink_to("nowhere")
        for name in ("key", "link"):
            status, out, err = self.keygen("--out", str(self.root / name))
            self.assertEqual((status, out), (1, ""))
            self.assertEqual(
                err,
                f"plugin-bridge keygen: {self.root / name} exists already; keygen "
                "never replaces a key\n",
            )
        self.assertEqual(key.read_text(), "precious")
        self.assertFalse((self.root / "nowhere").exists())

    def test_no_directory(self):
        """A directory that is not there is not made for a file that was named."""
        path = self.root / "nowhere" / "key"
        status, _, err = self.keygen("--out", str(path))
        self.assertEqual(status, 1)
        self.assertIn("cannot be created: No such file or directory", err)

    def test_disk_full(self):
        """A key that could not be written whole is not left behind."""
        full = OSError(28, "No space left on device")
        with mock.patch("os.fsync", side_effect=full):
            status, _, err = self.keygen("--out", str(self.root / "key"))
        self.assertEqual(status, 1)
        self.assertIn("No space left on device", err)
        self.assertEqual(list(self.root.iterdir()), [])

    def test_default_place(self):
        """A key goes to its owner's configuration, in a directory only for him."""
        environ = {"XDG_CONFIG_HOME": str(self.root)}
        with mock.patch.dict(os.environ, environ):
            status, out, _ = self.keygen()
            path = default_key_file()
        self.assertEqual(status, 0)
        self.assertIn(str(path), out)
        self.assertTrue(path.is_relative_to(self.root))
        self.assertEqual(stat.S_IMODE(path.parent.stat().st_mode), 0o700)

    def test_usage(self):
        """What is no option is a usage error."""
        for arguments in (["extra"], ["--unknown"], ["--out"]):
            self.assertEqual(self.keygen(*arguments)[0], 2)

    def test_exclusive(self):
        """No option is ignored: no key is created where none was asked for."""
        environ = {"XDG_CONFIG_HOME": str(self.root)}
        with mock.patch.dict(os.environ, environ):
            for arguments in (["--key", "mine"], ["--show", "--out", "mine"]):
                self.assertEqual(self.keygen(*arguments)[0], 2)
        self.assertEqual(list(self.root.iterdir()), [])


class ShowTests(CommandTestCase):
    """Showing a key's fingerprint."""

    def setUp(self) -> None:
        """Be without a key in the configuration."""
        super().setUp()
        self.patch(os, "environ", {**os.environ, "XDG_CONFIG_HOME": str(self.root)})

    def show(self, *arguments: str) -> tuple[int, str, str]:
        """Run ``keygen --show``."""
        return self.run_main("keygen", "--show", *arguments)

    def test_key_file(self) -> None:
        """The fingerprint of a key file is all that is printed."""
        path = self.root / "key"
        path.write_text("01" * 32)
        wanted = key_id(public_key_of(b"\x01" * 32))
        self.assertEqual(self.show("--key", str(path)), (0, f"{wanted}\n", ""))
        _, out, _ = self.show("--json", "--key", str(path))
        self.assertEqual(json.loads(out), {"keyId": wanted})

    def test_variable(self) -> None:
        """The variable holds a key, too."""
        with mock.patch.dict(os.environ, {"BRIDGE_SIGNING_KEY": "02" * 32}):
            wanted = key_id(public_key_of(b"\x02" * 32))
            self.assertEqual(self.show(), (0, f"{wanted}\n", ""))

    def test_no_key(self) -> None:
        """Without a key, none is made."""
        status, out, err = self.show()
        self.assertEqual((status, out), (1, ""))
        self.assertIn("plugin-bridge keygen: there is no key file", err)
        self.assertEqual(list(self.root.iterdir()), [])


class ReadSeedTests(CommandTestCase):
    """Reading a key."""

    def test_either_case(self):
        """Digits of either case, with blanks around them, are a key."""
        self.assertEqual(parse_seed(f" {'aB' * 32}\r\n", "x"), b"\xab" * 32)

    def test_no_echo(self):
        """What is no key is refused without a word of it."""
        path = self.root / "key"
        for content in (b"", b"Zq9" * 22, b"a" * 63, b"a" * 65, b"\xff" * 64, b"\0"):
            path.write_bytes(content)
            with self.assertRaises(CommandError) as caught:
                read_seed(path)
            self.assertEqual(
                str(caught.exception), f"{path} does not hold 64 hexadecimal digits"
            )

    def test_unreadable(self):
        """A key file that is missing or is a directory is reported."""
        with self.assertRaises(CommandError) as caught:
            read_seed(self.root / "key")
        self.assertIn("plugin-bridge keygen creates one", str(caught.exception))
        with self.assertRaises(CommandError) as caught:
            read_seed(self.root)
        self.assertIn("cannot be read: Is a directory", str(caught.exception))
